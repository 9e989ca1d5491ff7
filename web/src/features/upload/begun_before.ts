/** Uploads that were begun before the page was loaded: which are there, and which slide of the chosen is one of them. */
import { ApiProblem } from '../../api/problem';
import type { Digest } from './digest';
import type { SlideToSend } from './grouping';
import { forget, remembered } from './remembered';
import type { Choice, Slide, UploadServer } from './server';

export interface Unfinished {
  slideId: string;
  name: string;
  size: number; // bytes of all files
  fileCount: number;
  arrived: number; // bytes
  begunAt: string;
}

/** Those of this browser that the server still waits for, without those that are `taken` up already. */
export async function unfinished(
  server: UploadServer,
  taken: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Unfinished[]> {
  const left = (await ours(server, signal)).filter(({ slide_id }) => !taken.has(slide_id));
  const found = await Promise.all(left.map((slide) => withArrived(server, slide, signal)));
  return found.filter((one) => one !== null);
}

async function withArrived(server: UploadServer, slide: Slide, signal: AbortSignal): Promise<Unfinished | null> {
  try {
    const { parts } = await server.held(slide.slide_id, signal);
    return {
      slideId: slide.slide_id,
      name: slide.name,
      size: slide.size,
      fileCount: slide.files,
      arrived: parts.reduce((sum, { size }) => sum + size, 0),
      begunAt: slide.created_at,
    };
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.isPassing) throw error;
    forget(slide.slide_id); // it has expired, or ended meanwhile
    return null;
  }
}

/** The upload of this slide by name, sizes and the bytes of a part that has arrived; none of those in `claimed`. */
export async function matching(
  { server, digest, claimed }: { server: UploadServer; digest: Digest; claimed: ReadonlySet<string> },
  slide: SlideToSend,
  choice: Choice,
  signal: AbortSignal,
): Promise<string | null> {
  for (const other of await ours(server, signal)) {
    if (!claimed.has(other.slide_id) && looksLike(other, slide, choice)) {
      if (await holdsBytesOf(server, other.slide_id, slide, digest, signal)) return other.slide_id;
    }
  }
  return null;
}

async function ours(server: UploadServer, signal: AbortSignal): Promise<Slide[]> {
  const ids = new Set(remembered());
  return ids.size === 0 ? [] : (await server.uploading(signal)).filter(({ slide_id }) => ids.has(slide_id));
}

function looksLike(held: Slide, { name, size, files }: SlideToSend, choice: Choice): boolean {
  const { mpp, opticalPath, focalPlane, picture, deidentify } = choice;
  const isChosenSo =
    [null, held.mpp].includes(mpp) &&
    [null, held.optical_path].includes(opticalPath) &&
    [null, held.focal_plane].includes(focalPlane) &&
    [null, held.picture].includes(picture) &&
    held.deidentify === deidentify;
  return held.name === name && held.size === size && held.files === files.length && isChosenSo;
}

async function holdsBytesOf(
  server: UploadServer,
  slideId: string,
  slide: SlideToSend,
  digest: Digest,
  signal: AbortSignal,
): Promise<boolean> {
  const { partSize, parts } = await server.held(slideId, signal);
  const told = parts.find(({ sha256 }) => sha256 !== null);
  if (!told) return true; // nothing is there, or nothing that says what it is: all will be compared again or sent
  const start = (told.n - 1) * partSize;
  const mine = slide.files[told.file]?.file.slice(start, start + partSize);
  return mine?.size === told.size && (await digest(mine)) === told.sha256;
}
