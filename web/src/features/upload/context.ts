import { createContext, use, useSyncExternalStore } from 'react';
import type { Uploads } from './transfer/uploads';
import type { UploadsView } from './transfer/uploads_view';

export const UploadsContext = createContext<Uploads | null>(null);

export function useUploads(): Uploads {
  const uploads = use(UploadsContext);
  if (uploads === null) throw new Error('useUploads needs an UploadsContext above it.');
  return uploads;
}

export function useUploadsView(): UploadsView {
  const uploads = useUploads();
  return useSyncExternalStore(uploads.subscribe, uploads.current);
}
