import { expect, it } from 'vitest';
import { makeJob } from '../../../testing/jobs';
import type { Job } from '../../../api/live/job_update';
import { listStages } from './stages';

const UNPLANNED: Partial<Job> = { tiles_planned: 0, tiles_inferred: 0, progress: 0 };
const standings = (changes: Partial<Job>) => listStages(makeJob(changes)).map(({ state }) => state);

it.each<[string, Partial<Job>, string[]]>([
  ['a job that waits', { ...UNPLANNED, status: 'QUEUED', version: 1 }, ['now', 'ahead', 'ahead', 'ahead', 'ahead']],
  ['one that runs', {}, ['done', 'done', 'now', 'ahead', 'ahead']],
  ['one whose results are put together', { status: 'STITCHING' }, ['done', 'done', 'done', 'now', 'ahead']],
  ['one without tissue', { ...UNPLANNED, status: 'NO_TISSUE' }, ['done', 'done', 'skipped', 'skipped', 'done']],
  ['one cancelled in the queue', { ...UNPLANNED, status: 'CANCELLED', version: 2 }, ['stopped', 'ahead', 'ahead', 'ahead', 'ahead']],
  ['one that could not be planned', { ...UNPLANNED, status: 'FAILED', version: 3 }, ['done', 'stopped', 'ahead', 'ahead', 'ahead']],
  ['one that failed running', { status: 'FAILED', version: 4 }, ['done', 'done', 'stopped', 'ahead', 'ahead']],
  ['one that failed with all tiles done', { status: 'FAILED', tiles_inferred: 1000 }, ['done', 'done', 'done', 'stopped', 'ahead']],
  ['one that completed', { status: 'COMPLETED_WITH_UNREADABLE_TILES' }, ['done', 'done', 'done', 'done', 'done']],
])('%s stands where it is', (_, changes, expected) => {
  expect(standings(changes)).toEqual(expected);
});
