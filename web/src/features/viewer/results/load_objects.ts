import { FoundObjects, type PackedObjects } from './found_objects';

export type WorkerReply = { objects: PackedObjects } | { error: string };

/** Load a gzipped GeoJSON in a worker: the page stays responsive while it parses a hundred megabytes of text. */
export function loadObjects(url: string, signal: AbortSignal): Promise<FoundObjects> {
  const worker = new Worker(new URL('./found_objects.worker.ts', import.meta.url), { type: 'module' });
  const reply = new Promise<WorkerReply>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<WorkerReply>) => {
      resolve(data);
    };
    worker.onerror = () => {
      reject(new Error('The outlines of objects cannot be read in this browser: reload the page.'));
    };
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error);
    });
  });
  worker.postMessage(url);
  return reply
    .then((answer) => {
      if ('error' in answer) throw new Error(answer.error);
      return new FoundObjects(answer.objects);
    })
    .finally(() => {
      worker.terminate();
    });
}
