/** What a user states of a slide: with an upload, and of a slide that is stored already. null: as the file has it. */
import type { Schema } from '../api/routes';

export interface Stated {
  mpp: number | null; // µm a pixel at level 0
  opticalPath: string | null;
  focalPlane: number | null; // from 1
  picture: number | null; // from 1
}

/** The fields as they are typed. */
export type Typed = Record<keyof Stated, string>;
export type Wrong = Partial<Record<keyof Stated, string>>;

export const NOTHING_TYPED: Typed = { mpp: '', opticalPath: '', focalPlane: '', picture: '' };

const NOTHING_STATED: Stated = { mpp: null, opticalPath: null, focalPlane: null, picture: null };
const WHOLE = 'Give a whole number from 1.';

/** Limits are those of the API: docs/openapi.json, NewUpload and SlideToRestate. */
export function statedIn(typed: Typed): { stated: Stated; wrong: Wrong } {
  const mpp = typed.mpp.trim().replace(',', '.');
  const opticalPath = typed.opticalPath.trim();
  const focalPlane = typed.focalPlane.trim();
  const picture = typed.picture.trim();
  const wrong: Wrong = {};
  if (mpp && !(Number(mpp) > 0 && Number(mpp) <= 100)) wrong.mpp = 'Give microns a pixel, such as 0.25.';
  if (opticalPath.length > 64) wrong.opticalPath = 'An identifier has at most 64 characters.';
  if (focalPlane && !isNumberFrom1(focalPlane)) wrong.focalPlane = WHOLE;
  if (picture && !isNumberFrom1(picture)) wrong.picture = WHOLE;
  if (Object.keys(wrong).length > 0) return { stated: NOTHING_STATED, wrong };
  return {
    stated: {
      mpp: mpp ? Number(mpp) : null,
      opticalPath: opticalPath || null,
      focalPlane: focalPlane ? Number(focalPlane) : null,
      picture: picture ? Number(picture) : null,
    },
    wrong,
  };
}

export function typedOf({ mpp, optical_path, focal_plane, picture }: Schema<'SlideAnswer'>): Typed {
  const text = (value: number | null) => (value === null ? '' : String(value));
  return { mpp: text(mpp), opticalPath: optical_path ?? '', focalPlane: text(focal_plane), picture: text(picture) };
}

const isNumberFrom1 = (typed: string) => /^\d+$/.test(typed) && Number(typed) >= 1 && Number(typed) <= 10_000;
