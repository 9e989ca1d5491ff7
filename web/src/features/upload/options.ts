/** The fields of the advanced options, as they are typed. */
import { type Choice, NO_CHOICE } from './server';

export interface Typed {
  mpp: string;
  opticalPath: string;
  focalPlane: string;
  picture: string;
}

export const NOTHING_TYPED: Typed = { mpp: '', opticalPath: '', focalPlane: '', picture: '' };

export type Wrong = Partial<Record<keyof Typed, string>>;

/** Limits are those of the API: docs/openapi.json, NewUpload. */
export function choiceOf(typed: Typed): { choice: Choice; wrong: Wrong } {
  const mpp = typed.mpp.trim().replace(',', '.');
  const opticalPath = typed.opticalPath.trim();
  const focalPlane = typed.focalPlane.trim();
  const picture = typed.picture.trim();
  const wrong: Wrong = {};
  if (mpp && !(Number(mpp) > 0 && Number(mpp) <= 100)) wrong.mpp = 'Give microns a pixel, such as 0.25.';
  if (opticalPath.length > 64) wrong.opticalPath = 'An identifier has at most 64 characters.';
  if (focalPlane && !isNumberFrom1(focalPlane)) wrong.focalPlane = 'Give a whole number from 1.';
  if (picture && !isNumberFrom1(picture)) wrong.picture = 'Give a whole number from 1.';
  if (Object.keys(wrong).length > 0) return { choice: NO_CHOICE, wrong };
  return {
    choice: {
      ...NO_CHOICE,
      mpp: mpp ? Number(mpp) : null,
      opticalPath: opticalPath || null,
      focalPlane: focalPlane ? Number(focalPlane) : null,
      picture: picture ? Number(picture) : null,
    },
    wrong,
  };
}

const isNumberFrom1 = (typed: string) => /^\d+$/.test(typed) && Number(typed) >= 1 && Number(typed) <= 10_000;
