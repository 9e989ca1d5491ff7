/** Values that a user states for a slide, with an upload or for a stored slide. null: as the file states. */
import type { Schema } from '../../api/routes';

export type StatedValues = Required<Omit<Schema<'SlideToRestate'>, 'name'>>;

/** The fields as the user types them. */
export type TypedValues = Record<keyof StatedValues, string>;
export type FieldErrors = Partial<Record<keyof StatedValues, string>>;

export const NOTHING_TYPED: TypedValues = { mpp: '', optical_path: '', focal_plane: '', picture: '' };

const NOTHING_STATED: StatedValues = { mpp: null, optical_path: null, focal_plane: null, picture: null };
const NOT_A_COUNT = 'Enter a whole number from 1.';

/** Parse and check the fields, with the limits of the API: docs/openapi.json, NewUpload and SlideToRestate. */
export function parseStated(typed: TypedValues): { stated: StatedValues; wrong: FieldErrors } {
  const mpp = typed.mpp.trim().replace(',', '.');
  const optical_path = typed.optical_path.trim();
  const focal_plane = typed.focal_plane.trim();
  const picture = typed.picture.trim();
  const wrong: FieldErrors = {};
  if (mpp && !(Number(mpp) > 0 && Number(mpp) <= 100)) wrong.mpp = 'Enter microns per pixel, such as 0.25.';
  if (optical_path.length > 64) wrong.optical_path = 'An identifier has at most 64 characters.';
  if (focal_plane && !isCount(focal_plane)) wrong.focal_plane = NOT_A_COUNT;
  if (picture && !isCount(picture)) wrong.picture = NOT_A_COUNT;
  if (Object.keys(wrong).length > 0) return { stated: NOTHING_STATED, wrong };
  return {
    stated: {
      mpp: mpp ? Number(mpp) : null,
      optical_path: optical_path || null,
      focal_plane: focal_plane ? Number(focal_plane) : null,
      picture: picture ? Number(picture) : null,
    },
    wrong,
  };
}

export function toTyped({ mpp, optical_path, focal_plane, picture }: Schema<'SlideAnswer'>): TypedValues {
  const text = (value: number | null) => (value === null ? '' : String(value));
  return { mpp: text(mpp), optical_path: optical_path ?? '', focal_plane: text(focal_plane), picture: text(picture) };
}

const isCount = (typed: string) => /^\d+$/.test(typed) && Number(typed) >= 1 && Number(typed) <= 10_000;
