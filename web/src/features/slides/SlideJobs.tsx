import { Link } from 'react-router';
import { EmptyState } from '../../ui/EmptyState';
import { moment, number } from '../../ui/format';
import { Loading } from '../../ui/Loading';
import { Problem } from '../../ui/Problem';
import { ShowMore } from '../../ui/ShowMore';
import { JOB_STATES, JobStatus } from '../../ui/statuses';
import { type Column, Table } from '../../ui/Table';
import { type Job, useJobsOf } from './slides';

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
        {JOB_STATES[status].isPassing && <span className="ml-2 tabular-nums">{number(progress * 100)} %</span>}
      </>
    ),
  },
  {
    title: 'Asked for',
    cell: ({ created_at, created_by }) => (
      <>
        <time dateTime={created_at}>{moment(created_at)}</time>
        {created_by !== null && <p className="wrap-anywhere text-muted">{created_by}</p>}
      </>
    ),
  },
];

export function SlideJobs({ slideId }: { slideId: string }) {
  const jobs = useJobsOf(slideId);
  return (
    <section aria-labelledby="jobs" className="mt-8">
      <h2 id="jobs" className="mb-3 text-base font-semibold">
        Its jobs
      </h2>
      {jobs.isError && <Problem error={jobs.error} onRetry={() => void jobs.refetch()} />}
      {jobs.isPending && <Loading label="Loading its jobs" />}
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
