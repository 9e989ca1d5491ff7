/** What is read aloud to those who do not see the bar: each stage at once, progress now and then. */
import type { Job } from '../../api/live/job_update';
import { JOB_STATES } from '../../ui/statuses';

export interface Spoken {
  text: string;
  status: Job['status'] | null;
  at: number; // ms since 1970
}

const PAUSE = 30_000; // ms between two words on progress

export const SILENT: Spoken = { text: '', status: null, at: 0 };

/** After a look at `job` at `now`: the same object when there is nothing to say. `left`: in words, or null. */
export function spokenAfter(spoken: Spoken, job: Job, left: string | null, now: number): Spoken {
  const { label } = JOB_STATES[job.status];
  if (job.status !== spoken.status) {
    const text = job.sentence && job.status === 'FAILED' ? `${label}. ${job.sentence}` : `${label}.`;
    return { text, status: job.status, at: now };
  }
  if (job.status !== 'RUNNING' || now - spoken.at < PAUSE) return spoken;
  const text = `${Math.floor(job.progress * 100)} percent of the tiles are done${left ? `, ${left} left` : ''}.`;
  return text === spoken.text ? spoken : { text, status: job.status, at: now };
}
