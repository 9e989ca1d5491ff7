import { lazy } from 'react';
import type { Feature } from '../../app/feature';

const SlidesPage = lazy(() => import('./SlidesPage'));
const SlidePage = lazy(() => import('./SlidePage'));

export const feature: Feature = {
  navigation: { label: 'Slides', to: '/slides', order: 1, role: 'viewer' },
  routes: [
    { path: 'slides', element: <SlidesPage /> },
    { path: 'slides/:slideId', element: <SlidePage /> },
  ],
};
