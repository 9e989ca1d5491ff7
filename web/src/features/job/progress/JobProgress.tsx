import type { ReactNode } from 'react';
import { type Job, isFinal } from '../../../api/live/job_update';
import type { Link } from '../../../api/live/watch';
import { formatDuration, formatNumber } from '../../../ui/format';
import { ProgressBar } from '../../../ui/messages/ProgressBar';
import { JobStatus } from '../../../ui/statuses';
import type { DisplayedSpeed } from './use_speed';
import { listStages } from './stages';
import { StageStepper } from './StageStepper';
import { describeWait, formatExpected } from './waiting';

const LINK_LABELS: Record<Link, string> = {
  connecting: 'Connecting …',
  live: 'Live',
  polling: 'Checking every 2 seconds',
};

interface Props {
  job: Job;
  link: Link;
  pace: DisplayedSpeed;
  partsDone: number;
  at: number; // ms since 1970 at which the job was read
}

/** The job's stage, progress and speed. */
export function JobProgress({ job, link, pace: { rate, left }, partsDone, at }: Props) {
  const hasEnded = isFinal(job);
  const waiting = describeWait(job, at);
  return (
    <section aria-labelledby="progress" className="rounded-lg border border-line bg-raised p-5">
      <div className="mb-5 flex items-center justify-between gap-4">
        <div className="flex items-center gap-3">
          <h2 id="progress" className="sr-only">
            Progress
          </h2>
          <JobStatus status={job.status} />
        </div>
        <p className="flex items-center gap-2 text-sm text-muted">
          {!hasEnded && (
            <>
              <span
                aria-hidden="true"
                className={`size-2 rounded-full ${link === 'live' ? 'bg-good' : 'border border-control'}`}
              />
              {LINK_LABELS[link]}
            </>
          )}
        </p>
      </div>
      <StageStepper stages={listStages(job)} />
      <div className="mt-6">
        <ProgressBar label="Tiles" value={job.progress} detail={describeProgress(job)} />
      </div>
      <dl className="mt-5 grid grid-cols-2 gap-x-6 gap-y-4 sm:grid-cols-4">
        {hasEnded ? (
          <>
            <Figure name="Tiles analysed">{formatNumber(job.tiles_inferred)}</Figure>
            <Figure name="Took">{job.finished_at ? formatDuration(secondsBetween(job.created_at, job.finished_at)) : '–'}</Figure>
          </>
        ) : (
          <>
            <Figure name="Tiles a second">{rate === null ? '–' : formatNumber(rate, rate < 10 ? 1 : 0)}</Figure>
            <Figure name="Time left">{left ?? formatExpected(job.expected_end_at, at) ?? '–'}</Figure>
          </>
        )}
        <Figure name="Unreadable">{describeUnreadable(job)}</Figure>
        <Figure name="Parts done">
          {job.shards_total > 0 ? `${formatNumber(partsDone)} of ${formatNumber(job.shards_total)}` : '–'}
        </Figure>
      </dl>
      {waiting !== null && <p className="mt-5 rounded-md bg-busy-soft px-4 py-3 text-sm text-busy">{waiting}</p>}
    </section>
  );
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt className="text-sm text-muted">{name}</dt>
      <dd className="mt-0.5 text-lg font-semibold tabular-nums">{children}</dd>
    </div>
  );
}

function describeProgress({ tiles_planned, tiles_inferred, tiles_unreadable, progress, status }: Job): string {
  if (status === 'NO_TISSUE') return 'none, since no tissue was found';
  if (tiles_planned === 0) return isFinal({ status }) ? 'none' : 'counted while planning';
  const done = formatNumber(tiles_inferred + tiles_unreadable);
  return `${done} of ${formatNumber(tiles_planned)} · ${Math.floor(progress * 100)} %`;
}

/** Describe the unreadable tiles so far: "12 (0.3 %)". */
function describeUnreadable({ tiles_inferred, tiles_unreadable }: Job): string {
  if (tiles_unreadable === 0) return tiles_inferred > 0 ? 'none' : '–';
  const share = (tiles_unreadable / (tiles_inferred + tiles_unreadable)) * 100;
  return `${formatNumber(tiles_unreadable)} (${share < 0.1 ? 'below 0.1' : formatNumber(share, 1)} %)`;
}

const secondsBetween = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 1000;
