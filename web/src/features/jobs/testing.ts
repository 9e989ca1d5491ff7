/** The API's answers in this feature's tests. */
import { makeJob } from '../../testing/jobs';
import { makeSlide } from '../../testing/slides';
import type { Job, Model, Slide } from './queries';

/** Make a job that completed. */
export function makeListedJob(id: string, changes: Partial<Job> = {}): Job {
  return makeJob({
    job_id: id,
    slide_id: 's1',
    status: 'COMPLETED',
    progress: 1,
    tiles_planned: 1204,
    tiles_inferred: 1204,
    tiles_per_second: null,
    eta_seconds: null,
    shards_remaining: 0,
    finished_at: '2026-11-28T12:01:00Z',
    worker_seconds: 180,
    dollars: 0.0265,
    ...changes,
  });
}

export function makeListedSlide(id: string, changes: Partial<Slide> = {}, inspection: Record<string, unknown> = {}): Slide {
  const found = { mpp_x: 0.499, mpp_y: 0.499, tissue_fraction: 0.31, levels: [], warnings: [], ...inspection };
  return makeSlide({ slide_id: id, name: `${id}.svs`, version: 3, inspection: found, ...changes });
}

export function makeModel(name: string, card: Record<string, unknown> = {}, changes: Partial<Model> = {}): Model {
  const filled = { mpp: 0.5, columns: [{ name: 'a' }, { name: 'b' }], description: `What ${name} is for.`, ...card };
  return { name, version: '1.0', digest: 'd', is_default: true, owner: 'installation', card: filled, ...changes };
}

export const ESTIMATE = { tiles: 1204, shards: 2, seconds: 720, dollars: 0.12, measured: true, exact: true, warnings: [] };
