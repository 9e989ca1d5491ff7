/** Cuts files into parts. */
import type { Schema } from '../../../api/routes';

export interface Part {
  file: number; // from 0
  n: number; // from 1
  start: number; // bytes
  size: number; // bytes
}

/** A part that the server has. Its digest is null once the whole file is stored. */
export type StoredPart = Schema<'StoredPart'>;

export function cutIntoParts(sizes: readonly number[], partSize: number): Part[] {
  return sizes.flatMap((size, file) =>
    Array.from({ length: Math.ceil(size / partSize) }, (_, index) => {
      const start = index * partSize;
      return { file, n: index + 1, start, size: Math.min(partSize, size - start) };
    }),
  );
}

export const partKey = ({ file, n }: { file: number; n: number }) => `${file}/${n}`;

/** Whether the server may hold this part; the digest decides. */
export function hasSameSize(held: StoredPart | undefined, part: Part): held is StoredPart {
  return held?.size === part.size;
}
