/** Finds uploads that were started before the page was loaded, and matches chosen slides with them. */
import { ApiProblem } from '../../../api/problem';
import type { Digest } from './digest';
import type { SlideToSend } from '../picking/slide_grouping';
import { forget, readRemembered } from './remembered_uploads';
import type { UploadOptions, Slide, UploadServer } from './upload_server';

export interface UnfinishedUpload {
  slideId: string;
  name: string;
  size: number; // bytes of all files
  fileCount: number;
  arrived: number; // bytes
  begunAt: string;
}

/** List this browser's unfinished uploads, without those that some tab has locked. */
export async function listUnfinished(
  server: UploadServer,
  locked: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<UnfinishedUpload[]> {
  const left = (await listRemembered(server, signal)).filter(({ slide_id }) => !locked.has(slide_id));
  const found = await Promise.all(left.map((slide) => countArrived(server, slide, signal)));
  return found.filter((one) => one !== null);
}

async function countArrived(server: UploadServer, slide: Slide, signal: AbortSignal): Promise<UnfinishedUpload | null> {
  try {
    const { parts } = await server.listParts(slide.slide_id, signal);
    return {
      slideId: slide.slide_id,
      name: slide.name,
      size: slide.size,
      fileCount: slide.files,
      arrived: parts.reduce((sum, { size }) => sum + size, 0),
      begunAt: slide.created_at,
    };
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.isTransient) throw error;
    forget(slide.slide_id); // the upload has expired, or has ended in the meantime
    return null;
  }
}

/** Find the upload of this slide by name, sizes and the bytes of an uploaded part; skip the ids in `claimed`. */
export async function findMatchingUpload(
  { server, digest, claimed }: { server: UploadServer; digest: Digest; claimed: ReadonlySet<string> },
  slide: SlideToSend,
  choice: UploadOptions,
  signal: AbortSignal,
): Promise<string | null> {
  for (const other of await listRemembered(server, signal)) {
    if (!claimed.has(other.slide_id) && isSameSlide(other, slide, choice)) {
      if (await hasSameBytes(server, other.slide_id, slide, digest, signal)) return other.slide_id;
    }
  }
  return null;
}

async function listRemembered(server: UploadServer, signal: AbortSignal): Promise<Slide[]> {
  const ids = new Set(readRemembered());
  return ids.size === 0 ? [] : (await server.listUploading(signal)).filter(({ slide_id }) => ids.has(slide_id));
}

function isSameSlide(held: Slide, { name, size, files }: SlideToSend, choice: UploadOptions): boolean {
  const { mpp, optical_path, focal_plane, picture, deidentify } = choice;
  const isChosenSo =
    [null, held.mpp].includes(mpp) &&
    [null, held.optical_path].includes(optical_path) &&
    [null, held.focal_plane].includes(focal_plane) &&
    [null, held.picture].includes(picture) &&
    held.deidentify === deidentify;
  return held.name === name && held.size === size && held.files === files.length && isChosenSo;
}

async function hasSameBytes(
  server: UploadServer,
  slideId: string,
  slide: SlideToSend,
  digest: Digest,
  signal: AbortSignal,
): Promise<boolean> {
  const { partSize, parts } = await server.listParts(slideId, signal);
  const sample = parts.find(({ sha256 }) => sha256 !== null);
  if (!sample) return true; // no part has a digest: each part is compared again, or sent
  const start = (sample.n - 1) * partSize;
  const mine = slide.files[sample.file]?.file.slice(start, start + partSize);
  return mine?.size === sample.size && (await digest(mine)) === sample.sha256;
}
