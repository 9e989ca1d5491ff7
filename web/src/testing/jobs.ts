import type { Job } from '../api/live/job_update';

/** A job that runs, 400 of 1,000 tiles done. */
export function aJob(changes: Partial<Job> = {}): Job {
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

/** As AppSync pushes it. */
export function pushed(job: Job): Record<string, unknown> {
  return {
    jobId: job.job_id,
    tenant: job.tenant,
    slideId: job.slide_id,
    status: job.status,
    version: job.version,
    progressSeq: job.progress_seq,
    progress: job.progress,
    tilesPlanned: job.tiles_planned,
    tilesInferred: job.tiles_inferred,
    tilesUnreadable: job.tiles_unreadable,
    tilesPerSecond: job.tiles_per_second,
    etaSeconds: job.eta_seconds,
    reason: job.reason,
  };
}
