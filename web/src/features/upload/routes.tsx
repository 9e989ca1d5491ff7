import { lazy } from 'react';
import type { Feature } from '../../app/feature';
import { HeaderProgress } from './HeaderProgress';
import { UploadsProvider } from './UploadsProvider';

const UploadPage = lazy(() => import('./UploadPage'));

export const feature: Feature = {
  navigation: { label: 'Upload', to: '/upload', order: 1.5, role: 'analyst' },
  routes: [{ path: 'upload', element: <UploadPage /> }],
  around: UploadsProvider,
  status: HeaderProgress,
};
