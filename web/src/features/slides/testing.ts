/** The API's answers in this feature's tests. */
import { makeSlide } from '../../testing/slides';
import type { Slide } from './queries';

export const makeListedSlide = (name: string, changes: Partial<Slide> = {}): Slide =>
  makeSlide({ slide_id: `id-${name}`, name, ...changes });

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
