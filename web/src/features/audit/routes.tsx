import type { Feature } from '../../app/feature';
import { lazyPage } from '../../app/page';

export const feature: Feature = {
  navigation: { label: 'Audit log', to: '/audit', order: 9, role: 'admin' },
  routes: [{ path: 'audit', ...lazyPage(() => import('./AuditPage')) }],
};
