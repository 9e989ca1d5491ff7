/** A draft of a job: its fields, their faults, and the request's body. */
import type { Schema } from '../../../api/routes';

export type Body = Schema<'NewJobBody'>;
export type Priority = Schema<'Priority'>;
export type Frame = Schema<'Frame'>;
export type GeoJson = Record<string, unknown>;

export const SIDES = ['x', 'y', 'width', 'height'] as const;
export type Side = (typeof SIDES)[number];

export interface Draft {
  model: { name: string; version: string } | null;
  priority: Priority;
  label: string;
  email: string;
  webhook: string;
  mpp: string; // µm per pixel; empty: as the slide states
  minTissue: string; // percent of a tile's area
  allowUpsampling: boolean;
  fast: boolean;
  force: boolean;
  region: 'whole' | 'rectangle' | 'drawn';
  rectangle: Record<Side, string>; // px of level 0
  drawn: { name: string; geojson: GeoJson } | null;
  frame: Frame;
}

export const EMPTY_DRAFT: Draft = {
  model: null,
  priority: 'normal',
  label: '',
  email: '',
  webhook: '',
  mpp: '',
  minTissue: '10',
  allowUpsampling: false,
  fast: false,
  force: false,
  region: 'whole',
  rectangle: { x: '0', y: '0', width: '', height: '' },
  drawn: null,
  frame: 'qupath',
};

export type Field = 'model' | 'email' | 'webhook' | 'mpp' | 'minTissue' | 'region';
export type Faults = Partial<Record<Field, string>>;

const EMAIL = /^[^@\s]+@[^@\s]+\.[^@\s]+$/; // as lambdas/schemas/jobs.py
const MOST_MPP = 100; // as lambdas/schemas/common.py
const LARGEST = 2 ** 31 - 1; // px

/** Return one sentence per faulty field. `needsMpp`: the draft must state the scale. */
export function findFaults(draft: Draft, { needsMpp }: { needsMpp: boolean }): Faults {
  const faults: Faults = {};
  if (draft.model === null) faults.model = 'Choose a model.';
  if (draft.email !== '' && !EMAIL.test(draft.email.trim())) faults.email = 'This is not an e-mail address.';
  if (draft.webhook !== '' && !isHttps(draft.webhook.trim())) faults.webhook = 'The address must begin with https://.';
  const mpp = parseNumber(draft.mpp);
  if (draft.mpp.trim() === '') {
    if (needsMpp) faults.mpp = 'A slide does not state its scale: enter it in µm per pixel.';
  } else if (mpp === null || mpp <= 0 || mpp > MOST_MPP) faults.mpp = `Enter µm per pixel, above 0 and up to ${MOST_MPP}.`;
  const tissue = parseNumber(draft.minTissue);
  if (tissue === null || tissue < 0 || tissue > 100) faults.minTissue = 'Enter a percentage from 0 to 100.';
  if (draft.region === 'rectangle' && parseRectangle(draft) === null)
    faults.region = 'Enter all four in whole pixels at full resolution; width and height must be above 0.';
  if (draft.region === 'drawn' && draft.drawn === null) faults.region = 'Choose a GeoJSON file.';
  return faults;
}

/** Return the request's body; null if the draft has faults. */
export function makeBody(draft: Draft, slideId: string, needs: { needsMpp: boolean }): Body | null {
  if (draft.model === null || Object.keys(findFaults(draft, needs)).length > 0) return null;
  const mpp = parseNumber(draft.mpp);
  const rectangle = draft.region === 'rectangle' ? parseRectangle(draft) : null;
  const drawn = draft.region === 'drawn' ? draft.drawn : null;
  const [label, email, webhook] = [draft.label.trim(), draft.email.trim(), draft.webhook.trim()];
  return {
    slide_id: slideId,
    model: draft.model.name,
    model_version: draft.model.version,
    priority: draft.priority,
    ...(label ? { label } : {}),
    ...(mpp === null ? {} : { mpp }),
    ...(rectangle ? { region: rectangle } : {}),
    ...(drawn ? { region_geojson: drawn.geojson, region_frame: draft.frame } : {}),
    options: {
      min_tissue: (parseNumber(draft.minTissue) ?? 0) / 100,
      allow_upsampling: draft.allowUpsampling,
      fast: draft.fast,
    },
    ...(email || webhook ? { notify: { email: email || null, webhook: webhook || null } } : {}),
    ...(draft.force ? { force: true } : {}),
  };
}

/** Keep only what affects tiles and cost, so that typing a label requests no new estimate. */
export function makeEstimateBody(body: Body): Body {
  const { slide_id, model, model_version, mpp, region, region_geojson, region_frame, options } = body;
  const all = { slide_id, model, model_version, mpp, region, region_geojson, region_frame, options };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as unknown as Body;
}

/** Parse a typed number: "0,25" is 0.25. Return null for other text. */
export function parseNumber(text: string): number | null {
  const written = text.trim().replace(',', '.');
  const value = Number(written);
  return written === '' || !Number.isFinite(value) ? null : value;
}

function parseRectangle({ rectangle }: Draft): [number, number, number, number] | null {
  const [x, y, width, height] = SIDES.map((side) => parseNumber(rectangle[side]));
  if (x == null || y == null || width == null || height == null) return null;
  const isWhole = [x, y, width, height].every((side) => Number.isInteger(side) && side >= 0 && side <= LARGEST);
  return isWhole && width > 0 && height > 0 ? [x, y, width, height] : null;
}

function isHttps(text: string): boolean {
  return URL.canParse(text) && new URL(text).protocol === 'https:';
}
