import type { Schema } from '../api/routes';

type Slide = Schema<'SlideAnswer'>;

/** Make a slide that is ready, without a result of inspection. */
export function makeSlide(changes: Partial<Slide> = {}): Slide {
  return {
    slide_id: 'slide-1',
    name: 'slide-1.svs',
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
    legal_hold: false,
    created_at: '2026-11-28T12:00:00Z',
    version: 1,
    ...changes,
  };
}
