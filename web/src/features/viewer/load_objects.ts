import { FoundObjects, type PackedObjects } from './found_objects';

export type Told = { objects: PackedObjects } | { error: string };

/** Of `url`, a gzipped GeoJSON. In a worker: the page moves on while a hundred megabytes of text are read. */
export function loadObjects(url: string, signal: AbortSignal): Promise<FoundObjects> {
  const worker = new Worker(new URL('./found_objects.worker.ts', import.meta.url), { type: 'module' });
  const told = new Promise<Told>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<Told>) => {
      resolve(data);
    };
    worker.onerror = () => {
      reject(new Error('The outlines of objects can not be read in this browser: reload the page.'));
    };
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error);
    });
  });
  worker.postMessage(url);
  return told
    .then((answer) => {
      if ('error' in answer) throw new Error(answer.error);
      return new FoundObjects(answer.objects);
    })
    .finally(() => {
      worker.terminate();
    });
}
