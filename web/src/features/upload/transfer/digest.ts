import { UnreadableFile } from './sha256';

/** Computes the hex SHA-256 of a slice. Throws UnreadableFile. */
export type Digest = (part: Blob) => Promise<string>;

export interface DigestRequest {
  id: number;
  part: Blob;
}

export interface DigestReply {
  id: number;
  sha256: string | null; // null: the slice could not be read
}

interface PendingDigest {
  resolve: (sha256: string) => void;
  reject: (error: Error) => void;
}

/** Digest in a worker, which starts with the first slice: the page stays responsive and holds no bytes of a file. */
export function makeWorkerDigest(): Digest {
  let worker: Worker | null = null;
  let next = 0;
  const waiting = new Map<number, PendingDigest>();
  const begin = () => {
    const begun = new Worker(new URL('./digest.worker.ts', import.meta.url), { type: 'module' });
    begun.onmessage = ({ data }: MessageEvent<DigestReply>) => {
      const pending = waiting.get(data.id);
      waiting.delete(data.id);
      if (data.sha256 === null) pending?.reject(new UnreadableFile());
      else pending?.resolve(data.sha256);
    };
    begun.onerror = () => {
      const broken = new Error('The browser could not check the file. Reload the page and choose it again.');
      for (const pending of waiting.values()) pending.reject(broken);
      waiting.clear();
    };
    return begun;
  };
  return (part) =>
    new Promise((resolve, reject) => {
      worker ??= begin();
      const id = next++;
      waiting.set(id, { resolve, reject });
      worker.postMessage({ id, part } satisfies DigestRequest);
    });
}
