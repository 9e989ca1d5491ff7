/** What the API says in this feature's tests. */
import type { Reply } from '../../testing/fakes';
import type { Slide } from './slides';

export const ME: Reply = { body: { tenant: 't', subject: 'user:1', role: 'analyst' } };
export const VIEWER: Reply = { body: { tenant: 't', subject: 'user:2', role: 'viewer' } };

export const page = (items: readonly unknown[], next_cursor: string | null = null): Reply => ({
  body: { items, next_cursor },
});

export function slide(name: string, changes: Partial<Slide> = {}): Slide {
  return {
    slide_id: `id-${name}`,
    name,
    status: 'READY',
    reason: null,
    sentence: null,
    files: 1,
    size: 3_210_000_000,
    digest: null,
    mpp: null,
    optical_path: null,
    focal_plane: null,
    picture: null,
    deidentify: false,
    deidentified: false,
    removed: null,
    inspection: null,
    restored_until: null,
    created_at: '2026-11-28T12:00:00Z',
    version: 1,
    ...changes,
  };
}

export const INSPECTION = {
  format: 'svs',
  vendor: 'aperio',
  reading_path: 'native',
  width: 46_000,
  height: 32_914,
  levels: [{}, {}, {}, {}],
  mpp_x: 0.499,
  mpp_y: 0.499,
  mpp_source: 'aperio',
  icc: true,
  tissue_um2: 123_400_000,
  tissue_fraction: 0.326,
  warnings: ['Pen marks cover 3.1% of what looks like tissue; tissue detection leaves them out.'],
};
