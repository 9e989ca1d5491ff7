import type { Feature } from '../../app/feature';
import { lazyPage } from '../../app/page';

export const feature: Feature = {
  navigation: { label: 'Jobs', to: '/jobs', order: 2, role: 'viewer' },
  routes: [
    { path: 'jobs', ...lazyPage(() => import('./list/JobsPage')) },
    { path: 'jobs/new', ...lazyPage(() => import('./new_job/NewJobPage')) },
  ],
};
