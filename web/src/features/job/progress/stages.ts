import type { Job } from '../../../api/live/job_update';

export type StageState = 'done' | 'now' | 'ahead' | 'skipped' | 'stopped';

export interface Stage {
  label: string;
  state: StageState;
}

const LABELS = ['Queued', 'Planning', 'Running', 'Combining results', 'Done'] as const;
const PLANNING = 1;
const LAST = LABELS.length - 1;

/** List the stages of a job with their states. */
export function listStages(job: Job): Stage[] {
  return LABELS.map((label, place) => ({ label, state: stateOf(job, place) }));
}

function stateOf(job: Job, place: number): StageState {
  switch (job.status) {
    case 'QUEUED':
      return compareTo(place, 0, 'now');
    case 'PLANNING':
      return compareTo(place, PLANNING, 'now');
    case 'RUNNING':
      return compareTo(place, 2, 'now');
    case 'STITCHING':
      return compareTo(place, 3, 'now');
    case 'NO_TISSUE':
      return place <= PLANNING || place === LAST ? 'done' : 'skipped';
    case 'COMPLETED':
    case 'COMPLETED_WITH_UNREADABLE_TILES':
      return 'done';
    case 'FAILED':
    case 'CANCELLED':
      return compareTo(place, findStopStage(job), 'stopped');
  }
}

const compareTo = (place: number, here: number, standing: StageState): StageState =>
  place === here ? standing : place < here ? 'done' : 'ahead';

/** Find the stage at which a job stopped. The number of tiles is known once a job is planned, and all are done before
 * results are combined. A job starts with version 1, and each new state raises it. */
function findStopStage(job: Job): number {
  if (job.tiles_planned > 0) return countTilesLeft(job) === 0 ? 3 : 2;
  return job.version > 2 ? PLANNING : 0;
}

export const countTilesLeft = ({ tiles_planned, tiles_inferred, tiles_unreadable }: Job) =>
  tiles_planned - tiles_inferred - tiles_unreadable;

export const isSuccess = ({ status }: Job) =>
  status === 'COMPLETED' || status === 'COMPLETED_WITH_UNREADABLE_TILES' || status === 'NO_TISSUE';
