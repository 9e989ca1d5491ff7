import { useState } from 'react';
import type { Job } from '../../api/live/job_update';
import { UNKNOWN, about, secondsLeft, speedAfter } from './speed';

export interface Pace {
  rate: number | null; // tiles a second
  left: string | null; // in words
}

/** Of `job` as it was at `at` (ms since 1970), steadied over the reports that came in. */
export function usePace(job: Job | undefined, at: number): Pace {
  const [speed, setSpeed] = useState(UNKNOWN);
  const next = job ? speedAfter(speed, job, at) : speed;
  if (next !== speed) setSpeed(next);
  const seconds = job ? secondsLeft(next, job, at) : null;
  return { rate: next.rate, left: seconds === null ? null : about(seconds) };
}
