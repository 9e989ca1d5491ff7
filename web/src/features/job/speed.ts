/** How fast it goes and how long it takes yet: steady enough to read, and nothing before it is known. */
import { isFinal, type Job } from '../../api/live/job_update';
import { tilesLeft } from './stages';

export interface Speed {
  seen: string; // the moment of the job that was looked at last
  at: number; // ms since 1970 of the last report
  rate: number | null; // tiles a second
  reports: number;
}

const MEMORY = 15_000; // ms in which a former rate loses two thirds of its weight
const ENOUGH = 3; // reports: the first ones measure a worker that warms up
const STALE = 60_000; // ms without a report, after which nobody knows how fast it goes

export const UNKNOWN: Speed = { seen: '', at: 0, rate: null, reports: 0 };

/** After a look at `job` at `now`: the same object when that brought nothing. */
export function speedAfter(speed: Speed, job: Job, now: number): Speed {
  const seen = `${job.job_id} ${job.version} ${job.progress_seq}`;
  if (seen === speed.seen) return speed;
  const rate = job.status === 'RUNNING' ? job.tiles_per_second : null;
  if (rate === null) return { ...UNKNOWN, seen, at: now };
  if (speed.rate === null || now - speed.at >= STALE) return { seen, at: now, rate, reports: 1 };
  const reports = speed.reports + 1;
  const weight = Math.max(1 - Math.exp(-(now - speed.at) / MEMORY), 1 / reports); // a mean at first
  return { seen, at: now, rate: speed.rate + weight * (rate - speed.rate), reports };
}

/** Seconds until the tiles are done; null while that is not known. */
export function secondsLeft(speed: Speed, job: Job, now: number): number | null {
  const { rate, reports, at } = speed;
  if (isFinal(job) || rate === null || rate <= 0 || reports < ENOUGH || now - at >= STALE) return null;
  return tilesLeft(job) / rate;
}

/** "about 4 min", no finer than it is known. */
export function about(seconds: number): string {
  if (seconds < 10) return 'a few seconds';
  if (seconds < 55) return `about ${Math.ceil(seconds / 10) * 10} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 10) return `about ${Math.max(minutes, 1)} min`;
  const rounded = Math.round(minutes / 5) * 5;
  return rounded < 60 ? `about ${rounded} min` : `about ${Math.floor(rounded / 60)} h ${rounded % 60} min`;
}
