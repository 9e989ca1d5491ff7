import { inWordsOfThePage } from '../../ui/fields';
import { duration, number } from '../../ui/format';
import { JOB_STATES, JobStatus } from '../../ui/statuses';
import type { Job } from './jobs';

/** Status, bar and a line of words, of one height in every state: nothing moves when a job goes on. */
export function JobProgress({ job }: { job: Job }) {
  const { isPassing } = JOB_STATES[job.status];
  const percent = Math.floor(job.progress * 100);
  return (
    <div className="flex h-16 w-56 flex-col max-lg:w-36 justify-center gap-1.5">
      <div>
        <JobStatus status={job.status} />
      </div>
      {isPassing && (
        <progress
          aria-label="Progress"
          max={100}
          value={percent}
          className="h-1.5 w-full overflow-hidden rounded-full bg-sunken"
        />
      )}
      <p className="truncate text-xs text-muted tabular-nums" title={job.sentence === null ? undefined : inWordsOfThePage(job.sentence)}>
        {isPassing ? goingOn(job, percent) : ended(job)}
      </p>
    </div>
  );
}

function goingOn(job: Job, percent: number): string {
  if (job.waiting_for_capacity) return 'Waiting for a machine';
  if (job.status === 'QUEUED' || job.status === 'PLANNING') return 'Begins soon';
  const left = job.eta_seconds === null ? '' : `, ${duration(job.eta_seconds)} left`;
  return `${percent} %${left}`;
}

function ended(job: Job): string {
  if (job.sentence !== null) return inWordsOfThePage(job.sentence);
  const unreadable = job.tiles_unreadable > 0 ? `, ${number(job.tiles_unreadable)} unreadable` : '';
  return job.tiles_planned > 0 ? `${number(job.tiles_planned)} tiles${unreadable}` : '';
}
