import { lazy } from 'react';
import type { Feature } from '../../app/feature';

const ViewerPage = lazy(() => import('./ViewerPage'));

export const feature: Feature = { routes: [{ path: 'view/:slideId', element: <ViewerPage /> }] };
