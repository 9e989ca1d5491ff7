import type { Feature } from '../../app/feature';
import { lazyPage } from '../../app/page';

export const feature: Feature = { routes: [{ path: 'jobs/:jobId', ...lazyPage(() => import('./JobPage')) }] };
