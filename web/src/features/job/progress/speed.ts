/** Speed and time left, smoothed enough to read, and null until they are known. */
import { isFinal, type Job } from '../../../api/live/job_update';
import { countTilesLeft } from './stages';

export interface Speed {
  seen: string; // version of the job that was read last
  at: number; // ms since 1970 of the last report
  rate: number | null; // tiles a second
  reports: number;
}

const MEMORY = 15_000; // ms after which an earlier rate has lost two thirds of its weight
const LEAST_REPORTS = 3; // the first reports measure a worker that is warming up
const STALE = 60_000; // ms without a report, after which the speed is unknown

export const UNKNOWN_SPEED: Speed = { seen: '', at: 0, rate: null, reports: 0 };

/** Update the speed from `job` at `now`. Return the same object if the job has not changed. */
export function updateSpeed(speed: Speed, job: Job, now: number): Speed {
  const seen = `${job.job_id} ${job.version} ${job.progress_seq}`;
  if (seen === speed.seen) return speed;
  const rate = job.status === 'RUNNING' ? job.tiles_per_second : null;
  if (rate === null) return { ...UNKNOWN_SPEED, seen, at: now };
  if (speed.rate === null || now - speed.at >= STALE) return { seen, at: now, rate, reports: 1 };
  const reports = speed.reports + 1;
  const weight = Math.max(1 - Math.exp(-(now - speed.at) / MEMORY), 1 / reports); // a mean at first
  return { seen, at: now, rate: speed.rate + weight * (rate - speed.rate), reports };
}

/** Return the seconds until all tiles are done; null if unknown. */
export function estimateSecondsLeft(speed: Speed, job: Job, now: number): number | null {
  const { rate, reports, at } = speed;
  if (isFinal(job) || rate === null || rate <= 0 || reports < LEAST_REPORTS || now - at >= STALE) return null;
  return countTilesLeft(job) / rate;
}

/** Return "about 4 min", rounded to what is known. */
export function formatTimeLeft(seconds: number): string {
  if (seconds < 10) return 'a few seconds';
  if (seconds < 55) return `about ${Math.ceil(seconds / 10) * 10} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 10) return `about ${Math.max(minutes, 1)} min`;
  const rounded = Math.round(minutes / 5) * 5;
  return rounded < 60 ? `about ${rounded} min` : `about ${Math.floor(rounded / 60)} h ${rounded % 60} min`;
}
