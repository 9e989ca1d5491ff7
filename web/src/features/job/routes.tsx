import { lazy } from 'react';
import type { Feature } from '../../app/feature';

const JobPage = lazy(() => import('./JobPage'));

export const feature: Feature = { routes: [{ path: 'jobs/:jobId', element: <JobPage /> }] };
