import { useState } from 'react';
import type { Job } from '../../api/live/job_update';
import { SILENT, spokenAfter } from './spoken';

interface Props {
  job: Job | undefined;
  left: string | null; // in words
  at: number; // ms since 1970 of what `job` says
}

/** For those who do not see the bar. It is there before it has something to say: a region that comes with its text is
 * not read. */
export function Announcement({ job, left, at }: Props) {
  const [spoken, setSpoken] = useState(SILENT);
  const next = job ? spokenAfter(spoken, job, left, at) : spoken;
  if (next !== spoken) setSpoken(next);
  return (
    <p role="status" className="sr-only">
      {next.text}
    </p>
  );
}
