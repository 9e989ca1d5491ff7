import type { Feature } from '../../app/feature';
import { page } from '../../app/page';

export const feature: Feature = {
  navigation: { label: 'Slides', to: '/slides', order: 1, role: 'viewer' },
  routes: [
    { path: 'slides', ...page(() => import('./SlidesPage')) },
    { path: 'slides/:slideId', ...page(() => import('./SlidePage')) },
  ],
};
