import { UnreadableFile } from './sha256';

/** Hex SHA-256 of a slice. Throws UnreadableFile. */
export type Digest = (part: Blob) => Promise<string>;

export interface Asked {
  id: number;
  part: Blob;
}

export interface Told {
  id: number;
  sha256: string | null; // null: the slice could not be read
}

interface Waiting {
  resolve: (sha256: string) => void;
  reject: (error: Error) => void;
}

/** In a worker, which begins with the first slice: the page stays responsive, and its thread holds no bytes of a file. */
export function digestInWorker(): Digest {
  let worker: Worker | null = null;
  let next = 0;
  const waiting = new Map<number, Waiting>();
  const begin = () => {
    const begun = new Worker(new URL('./digest.worker.ts', import.meta.url), { type: 'module' });
    begun.onmessage = ({ data }: MessageEvent<Told>) => {
      const asked = waiting.get(data.id);
      waiting.delete(data.id);
      if (data.sha256 === null) asked?.reject(new UnreadableFile());
      else asked?.resolve(data.sha256);
    };
    begun.onerror = () => {
      const broken = new Error('The browser could not check the file. Reload the page and choose it again.');
      for (const asked of waiting.values()) asked.reject(broken);
      waiting.clear();
    };
    return begun;
  };
  return (part) =>
    new Promise((resolve, reject) => {
      worker ??= begin();
      const id = next++;
      waiting.set(id, { resolve, reject });
      worker.postMessage({ id, part } satisfies Asked);
    });
}
