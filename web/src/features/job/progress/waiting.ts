/** What a job waits for, and for how long: estimates of the API, and no promise. */
import type { Job } from '../../../api/live/job_update';
import { formatTimeLeft } from './speed';

type Waiting = Pick<Job, 'waiting_for' | 'waiting_for_capacity' | 'expected_start_at'>;

/** Return sentences for a job that was read at `now` (ms since 1970); null if it waits for nothing. */
export function describeWait(job: Waiting, now: number): string | null {
  // An API from before it told what a job waits for says only that it does.
  const reason = job.waiting_for || (job.waiting_for_capacity ? 'a worker is starting' : null);
  if (reason === null) return null;
  const start = formatExpected(job.expected_start_at, now);
  const expected = start === null ? '' : ` The first tile is expected in ${start}.`;
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.${expected} You do not need to do anything.`;
}

/** Return "about 4 min" from `now` to a time that is expected; null if none is. */
export function formatExpected(at: string | null | undefined, now: number): string | null {
  return at ? formatTimeLeft((Date.parse(at) - now) / 1000) : null;
}
