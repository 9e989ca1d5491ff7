/** The result of a slide's inspection: free-form in openapi.json, parsed here as far as the page shows it. */
import type { Schema } from './routes';

export interface Inspection {
  format: string | null; // "svs", "ome-tiff", "dicom", …
  vendor: string | null;
  width: number | null; // px of level 0
  height: number | null;
  levels: number;
  mpp: readonly [number, number] | null; // µm per pixel of level 0, across and down
  mppSource: string | null; // "override", "aperio", "tiff-resolution", …
  isCopied: boolean; // only OpenSlide can read it, from a copy
  copyReason: string | null;
  hasProfile: boolean; // a colour profile; never applied
  tissueUm2: number;
  tissueFraction: number; // of the slide's area
  warnings: readonly string[];
}

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null);
const amount = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) ? value : null);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Return null if the slide was not inspected, or was rejected. */
export function readInspection({ inspection: found }: Pick<Schema<'SlideAnswer'>, 'inspection'>): Inspection | null {
  if (found === null) return null;
  const across = amount(found['mpp_x']);
  const down = amount(found['mpp_y']);
  return {
    format: text(found['format']),
    vendor: text(found['vendor']),
    width: amount(found['width']),
    height: amount(found['height']),
    levels: list(found['levels']).length,
    mpp: across === null || down === null ? null : [across, down],
    mppSource: text(found['mpp_source']),
    isCopied: found['reading_path'] === 'scratch',
    copyReason: text(found['path_reason']),
    hasProfile: found['icc'] === true,
    tissueUm2: amount(found['tissue_um2']) ?? 0,
    tissueFraction: amount(found['tissue_fraction']) ?? 0,
    warnings: list(found['warnings']).flatMap((warning) => text(warning) ?? []),
  };
}

/** Return "0.5", or "0.5 × 1.0" for pixels that are not square, without the unit. */
export function formatMpp([across, down]: readonly [number, number]): string {
  const format = (mpp: number) => String(Number(mpp.toPrecision(4)));
  return Math.abs(across - down) <= 0.01 * Math.min(across, down) ? format(across) : `${format(across)} × ${format(down)}`;
}
