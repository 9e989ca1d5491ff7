/** What the API says in this feature's tests. */
import type { Reply } from '../../testing/fakes';
import type { Job, Model, Slide } from './jobs';

export const ME: Reply = { body: { tenant: 't', subject: 'user:1', role: 'analyst' } };
export const VIEWER: Reply = { body: { tenant: 't', subject: 'user:2', role: 'viewer' } };

export const page = (items: readonly unknown[], next_cursor: string | null = null): Reply => ({
  body: { items, next_cursor },
});

export function job(id: string, changes: Partial<Job> = {}): Job {
  return {
    job_id: id,
    tenant: 't',
    slide_id: 's1',
    status: 'COMPLETED',
    version: 4,
    progress_seq: 9,
    progress: 1,
    tiles_planned: 1204,
    tiles_inferred: 1204,
    tiles_unreadable: 0,
    tiles_per_second: null,
    eta_seconds: null,
    reason: null,
    sentence: null,
    waiting_for_capacity: false,
    model: 'stain-density',
    model_version: '1.0',
    model_digest: 'd',
    priority: 'normal',
    options: {},
    label: null,
    retry_of: null,
    notify: { email: null, webhook: null },
    shards_total: 1,
    shards_remaining: 0,
    traceparent: '00-1-1-01',
    created_by: 'ada@hospital.example',
    created_at: '2026-11-28T12:00:00Z',
    updated_at: '2026-11-28T12:01:00Z',
    finished_at: '2026-11-28T12:01:00Z',
    worker_seconds: 180,
    dollars: 0.0265,
    ...changes,
  };
}

export function slide(id: string, changes: Partial<Slide> = {}, inspection: Record<string, unknown> = {}): Slide {
  return {
    slide_id: id,
    name: `${id}.svs`,
    status: 'READY',
    reason: null,
    sentence: null,
    files: 1,
    size: 3_210_000_000,
    digest: 'ab',
    mpp: null,
    optical_path: null,
    focal_plane: null,
    picture: null,
    deidentify: false,
    deidentified: false,
    removed: null,
    inspection: { mpp_x: 0.499, mpp_y: 0.499, tissue_fraction: 0.31, levels: [], warnings: [], ...inspection },
    restored_until: null,
    created_at: '2026-11-28T11:00:00Z',
    version: 3,
    ...changes,
  };
}

export function model(name: string, card: Record<string, unknown> = {}, changes: Partial<Model> = {}): Model {
  const said = { mpp: 0.5, columns: [{ name: 'a' }, { name: 'b' }], description: `What ${name} is for.`, ...card };
  return { name, version: '1.0', digest: 'd', is_default: true, card: said, ...changes };
}

export const ESTIMATE = { tiles: 1204, shards: 2, seconds: 720, dollars: 0.12, exact: true, warnings: [] };
