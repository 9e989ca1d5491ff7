import { withFieldLabels } from '../../../ui/fields/field_labels';
import { formatDuration, formatNumber } from '../../../ui/format';
import { JOB_STATES, JobStatus } from '../../../ui/statuses';
import type { Job } from '../queries';

/** Status, bar and a line of text, with one height in every state, so that nothing moves when a job advances. */
export function JobProgress({ job }: { job: Job }) {
  const { isTransient } = JOB_STATES[job.status];
  const percent = Math.floor(job.progress * 100);
  return (
    <div className="flex h-16 w-56 flex-col max-lg:w-36 justify-center gap-1.5">
      <div>
        <JobStatus status={job.status} />
      </div>
      {isTransient && (
        <progress
          aria-label="Progress"
          max={100}
          value={percent}
          className="h-1.5 w-full overflow-hidden rounded-full bg-sunken"
        />
      )}
      <p className="truncate text-xs text-muted tabular-nums" title={job.sentence === null ? undefined : withFieldLabels(job.sentence)}>
        {isTransient ? describeRunning(job, percent) : describeEnded(job)}
      </p>
    </div>
  );
}

function describeRunning(job: Job, percent: number): string {
  if (job.waiting_for_capacity) return 'Waiting for a machine';
  if (job.status === 'QUEUED' || job.status === 'PLANNING') return 'Starting soon';
  const left = job.eta_seconds === null ? '' : `, ${formatDuration(job.eta_seconds)} left`;
  return `${percent} %${left}`;
}

function describeEnded(job: Job): string {
  if (job.sentence !== null) return withFieldLabels(job.sentence);
  const unreadable = job.tiles_unreadable > 0 ? `, ${formatNumber(job.tiles_unreadable)} unreadable` : '';
  return job.tiles_planned > 0 ? `${formatNumber(job.tiles_planned)} tiles${unreadable}` : '';
}
