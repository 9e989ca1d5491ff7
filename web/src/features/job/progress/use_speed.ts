import { useState } from 'react';
import type { Job } from '../../../api/live/job_update';
import { UNKNOWN_SPEED, formatTimeLeft, estimateSecondsLeft, updateSpeed } from './speed';

export interface DisplayedSpeed {
  rate: number | null; // tiles a second
  left: string | null; // as text
}

/** Smooths the job's speed over its reports. `at`: ms since 1970 at which `job` was read. */
export function useSpeed(job: Job | undefined, at: number): DisplayedSpeed {
  const [speed, setSpeed] = useState(UNKNOWN_SPEED);
  const next = job ? updateSpeed(speed, job, at) : speed;
  if (next !== speed) setSpeed(next);
  const seconds = job ? estimateSecondsLeft(next, job, at) : null;
  return { rate: next.rate, left: seconds === null ? null : formatTimeLeft(seconds) };
}
