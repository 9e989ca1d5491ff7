import type { Feature } from '../../app/feature';
import { page } from '../../app/page';
import { Ahead } from './Ahead';

export const feature: Feature = {
  routes: [{ path: 'view/:slideId', ...page(() => import('./ViewerPage')) }],
  around: Ahead,
};
