/** How files are cut. */

export interface Part {
  file: number; // from 0
  n: number; // from 1
  start: number; // bytes
  size: number; // bytes
}

export interface HeldPart {
  file: number;
  n: number;
  size: number;
  sha256: string | null; // hex; null when its whole file is stored
}

export function partsOf(sizes: readonly number[], partSize: number): Part[] {
  return sizes.flatMap((size, file) =>
    Array.from({ length: Math.ceil(size / partSize) }, (_, index) => {
      const start = index * partSize;
      return { file, n: index + 1, start, size: Math.min(partSize, size - start) };
    }),
  );
}

export const keyOf = ({ file, n }: { file: number; n: number }) => `${file}/${n}`;

/** Whether the server may hold this very part; its digest decides. */
export function mayBe(held: HeldPart | undefined, part: Part): held is HeldPart {
  return held?.size === part.size;
}
