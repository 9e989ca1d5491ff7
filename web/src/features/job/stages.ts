import type { Job } from '../../api/live/job_update';

export type Standing = 'done' | 'now' | 'ahead' | 'skipped' | 'stopped';

export interface Stage {
  label: string;
  standing: Standing;
}

const LABELS = ['Queued', 'Planning', 'Running', 'Putting together', 'Done'] as const;
const PLANNING = 1;
const LAST = LABELS.length - 1;

/** The way of a job, and where it is on it. */
export function stagesOf(job: Job): Stage[] {
  return LABELS.map((label, place) => ({ label, standing: standing(job, place) }));
}

function standing(job: Job, place: number): Standing {
  switch (job.status) {
    case 'QUEUED':
      return at(place, 0, 'now');
    case 'PLANNING':
      return at(place, PLANNING, 'now');
    case 'RUNNING':
      return at(place, 2, 'now');
    case 'STITCHING':
      return at(place, 3, 'now');
    case 'NO_TISSUE':
      return place <= PLANNING || place === LAST ? 'done' : 'skipped';
    case 'COMPLETED':
    case 'COMPLETED_WITH_UNREADABLE_TILES':
      return 'done';
    case 'FAILED':
    case 'CANCELLED':
      return at(place, stoppedAt(job), 'stopped');
  }
}

const at = (place: number, here: number, standing: Standing): Standing =>
  place === here ? standing : place < here ? 'done' : 'ahead';

/** By the counts: tiles are known once a job is planned, and all are done when it is put together. A job begins with
 * version 1, and each move raises it. */
function stoppedAt(job: Job): number {
  if (job.tiles_planned > 0) return tilesLeft(job) === 0 ? 3 : 2;
  return job.version > 2 ? PLANNING : 0;
}

export const tilesLeft = ({ tiles_planned, tiles_inferred, tiles_unreadable }: Job) =>
  tiles_planned - tiles_inferred - tiles_unreadable;

export const isSuccess = ({ status }: Job) =>
  status === 'COMPLETED' || status === 'COMPLETED_WITH_UNREADABLE_TILES' || status === 'NO_TISSUE';
