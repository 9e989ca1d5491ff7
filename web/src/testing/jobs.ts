import type { Job } from '../api/live/job_update';

/** Make a running job with 400 of 1,000 tiles done. */
export function makeJob(changes: Partial<Job> = {}): Job {
  return {
    job_id: 'job-1',
    tenant: 'tenant-1',
    slide_id: 'slide-1',
    status: 'RUNNING',
    version: 3,
    progress_seq: 4,
    progress: 0.4,
    tiles_planned: 1000,
    tiles_inferred: 400,
    tiles_unreadable: 0,
    tiles_per_second: 20,
    eta_seconds: 30,
    reason: null,
    sentence: null,
    waiting_for_capacity: false,
    waiting_for: null,
    expected_start_at: null,
    expected_end_at: null,
    model: 'stain-density',
    model_version: '1.0.0',
    model_digest: 'd'.repeat(64),
    priority: 'normal',
    options: { min_tissue: 0.1, mpp: null, region: null },
    label: null,
    retry_of: null,
    notify: { email: null, webhook: null },
    shards_total: 4,
    shards_remaining: 3,
    traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    created_by: 'ada@hospital.example',
    created_at: '2026-11-28T12:00:00Z',
    updated_at: '2026-11-28T12:01:00Z',
    finished_at: null,
    worker_seconds: 0,
    dollars: null,
    ...changes,
  };
}

/** Make the update that AppSync pushes for a job: its fields under GraphQL's names. */
export function makePushedUpdate(job: Job): Record<string, unknown> {
  const camel = (name: string) => name.split('_').reduce((text, word) => text + word.charAt(0).toUpperCase() + word.slice(1));
  return Object.fromEntries(Object.entries(job).map(([name, value]) => [camel(name), value]));
}
