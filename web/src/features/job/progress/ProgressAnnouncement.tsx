import { useState } from 'react';
import type { Job } from '../../../api/live/job_update';
import { NO_ANNOUNCEMENT, nextAnnouncement } from './announcements';

interface Props {
  job: Job | undefined;
  left: string | null; // as text
  at: number; // ms since 1970 at which `job` was read
}

/** Announces the progress to screen readers. The region is always mounted: one that appears with its text is not read. */
export function ProgressAnnouncement({ job, left, at }: Props) {
  const [spoken, setSpoken] = useState(NO_ANNOUNCEMENT);
  const next = job ? nextAnnouncement(spoken, job, left, at) : spoken;
  if (next !== spoken) setSpoken(next);
  return (
    <p role="status" className="sr-only">
      {next.text}
    </p>
  );
}
