import type { Feature } from '../../app/feature';
import { Ahead } from './Ahead';

export const feature: Feature = {
  routes: [
    {
      path: 'view/:slideId',
      // By the router, not by React.lazy: what Suspense held back is shown 300 ms after its fallback at the earliest.
      lazy: async () => ({ Component: (await import('./ViewerPage')).default }),
    },
  ],
  around: Ahead,
};
