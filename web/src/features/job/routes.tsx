import type { Feature } from '../../app/feature';
import { page } from '../../app/page';

export const feature: Feature = { routes: [{ path: 'jobs/:jobId', ...page(() => import('./JobPage')) }] };
