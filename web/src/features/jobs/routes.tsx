import { lazy } from 'react';
import type { Feature } from '../../app/feature';

const JobsPage = lazy(() => import('./JobsPage'));
const NewJobPage = lazy(() => import('./NewJobPage'));

export const feature: Feature = {
  navigation: { label: 'Jobs', to: '/jobs', order: 2, role: 'viewer' },
  routes: [
    { path: 'jobs', element: <JobsPage /> },
    { path: 'jobs/new', element: <NewJobPage /> },
  ],
};
