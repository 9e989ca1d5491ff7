import type { Feature } from '../../app/feature';
import { lazyPage } from '../../app/page';

export const feature: Feature = {
  navigation: { label: 'Slides', to: '/slides', order: 1, role: 'viewer' },
  routes: [
    { path: 'slides', ...lazyPage(() => import('./SlidesPage')) },
    { path: 'slides/:slideId', ...lazyPage(() => import('./SlidePage')) },
  ],
};
