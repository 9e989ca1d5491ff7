import type { Feature } from '../../app/feature';
import { page } from '../../app/page';
import { HeaderProgress } from './HeaderProgress';
import { UploadsProvider } from './UploadsProvider';

export const feature: Feature = {
  navigation: { label: 'Upload', to: '/upload', order: 1.5, role: 'analyst' },
  routes: [{ path: 'upload', ...page(() => import('./UploadPage')) }],
  around: UploadsProvider,
  status: HeaderProgress,
};
