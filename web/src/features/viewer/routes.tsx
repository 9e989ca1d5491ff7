import type { Feature } from '../../app/feature';
import { lazyPage } from '../../app/page';
import { PyramidPrefetch } from './PyramidPrefetch';

export const feature: Feature = {
  routes: [{ path: 'view/:slideId', ...lazyPage(() => import('./ViewerPage')) }],
  provider: PyramidPrefetch,
};
