import type { Feature } from '../../app/feature';
import { page } from '../../app/page';

export const feature: Feature = {
  navigation: { label: 'Jobs', to: '/jobs', order: 2, role: 'viewer' },
  routes: [
    { path: 'jobs', ...page(() => import('./JobsPage')) },
    { path: 'jobs/new', ...page(() => import('./NewJobPage')) },
  ],
};
