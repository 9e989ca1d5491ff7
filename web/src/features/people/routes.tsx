import type { Feature } from '../../app/feature';
import { lazyPage } from '../../app/page';

export const feature: Feature = {
  navigation: { label: 'People', to: '/people', order: 9, role: 'admin' },
  routes: [{ path: 'people', ...lazyPage(() => import('./PeoplePage')) }],
};
