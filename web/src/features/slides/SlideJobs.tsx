import { Link } from 'react-router';
import { EmptyState } from '../../ui/messages/EmptyState';
import { formatMoment, formatNumber } from '../../ui/format';
import { Loading } from '../../ui/messages/Loading';
import { Problem } from '../../ui/messages/Problem';
import { ShowMore } from '../../ui/ShowMore';
import { JOB_STATES, JobStatus } from '../../ui/statuses';
import { type Column, Table } from '../../ui/Table';
import { type Job, useSlideJobs } from './queries';

const COLUMNS: readonly Column<Job>[] = [
  {
    title: 'Model',
    isRowHeader: true,
    cell: ({ job_id, model, model_version, label }) => (
      <>
        <Link to={`/jobs/${job_id}`} className="text-accent hover:underline">
          {model} {model_version}
        </Link>
        {label && <p className="font-normal text-muted">{label}</p>}
      </>
    ),
  },
  {
    title: 'Status',
    cell: ({ status, progress }) => (
      <>
        <JobStatus status={status} />
        {JOB_STATES[status].isTransient && <span className="ml-2 tabular-nums">{formatNumber(progress * 100)} %</span>}
      </>
    ),
  },
  {
    title: 'Requested',
    cell: ({ created_at, created_by }) => (
      <>
        <time dateTime={created_at}>{formatMoment(created_at)}</time>
        {created_by !== null && <p className="wrap-anywhere text-muted">{created_by}</p>}
      </>
    ),
  },
];

export function SlideJobs({ slideId }: { slideId: string }) {
  const jobs = useSlideJobs(slideId);
  return (
    <section aria-labelledby="jobs" className="mt-8">
      <h2 id="jobs" className="mb-3 text-base font-semibold">
        Jobs of this slide
      </h2>
      {jobs.isError && <Problem error={jobs.error} onRetry={() => void jobs.refetch()} />}
      {jobs.isPending && <Loading label="Loading the jobs" />}
      {jobs.isSuccess && jobs.items.length === 0 && (
        <EmptyState title="No jobs yet">Nobody in your organisation has analysed this slide.</EmptyState>
      )}
      {jobs.items.length > 0 && (
        <>
          <Table caption="Jobs of this slide, newest first" columns={COLUMNS} rows={jobs.items} keyOf={(job) => job.job_id} />
          <ShowMore pages={jobs} />
        </>
      )}
    </section>
  );
}
