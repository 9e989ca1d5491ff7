/** Announcements for screen readers: each stage at once, progress from time to time. */
import type { Job } from '../../../api/live/job_update';
import { JOB_STATES } from '../../../ui/statuses';

export interface Announcement {
  text: string;
  status: Job['status'] | null;
  at: number; // ms since 1970
}

const PAUSE = 30_000; // ms between two announcements of progress

export const NO_ANNOUNCEMENT: Announcement = { text: '', status: null, at: 0 };

/** Return the announcement for `job` at `now`: the same object if there is nothing new. `left`: the time left as text, or null. */
export function nextAnnouncement(spoken: Announcement, job: Job, left: string | null, now: number): Announcement {
  const { label } = JOB_STATES[job.status];
  if (job.status !== spoken.status) {
    const text = job.sentence && job.status === 'FAILED' ? `${label}. ${job.sentence}` : `${label}.`;
    return { text, status: job.status, at: now };
  }
  if (job.status !== 'RUNNING' || now - spoken.at < PAUSE) return spoken;
  const text = `${Math.floor(job.progress * 100)} percent of the tiles are done${left ? `, ${left} left` : ''}.`;
  return text === spoken.text ? spoken : { text, status: job.status, at: now };
}
