import type { Feature } from '../../app/feature';
import { lazyPage } from '../../app/page';

export const feature: Feature = {
  navigation: { label: 'Usage', to: '/usage', order: 5, role: 'admin' },
  routes: [{ path: 'usage', ...lazyPage(() => import('./UsagePage')) }],
};
