import type { Feature } from '../../app/feature';
import { lazyPage } from '../../app/page';
import { HeaderProgress } from './progress/HeaderProgress';
import { UploadsProvider } from './UploadsProvider';

export const feature: Feature = {
  navigation: { label: 'Upload', to: '/upload', order: 1.5, role: 'analyst' },
  routes: [{ path: 'upload', ...lazyPage(() => import('./UploadPage')) }],
  provider: UploadsProvider,
  status: HeaderProgress,
};
