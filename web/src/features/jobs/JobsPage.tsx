import { useMay } from '../../session/roles';
import { ButtonLink } from '../../ui/Button';
import { EmptyState } from '../../ui/EmptyState';
import { moment, money } from '../../ui/format';
import { Loading } from '../../ui/Loading';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { ShowMore } from '../../ui/ShowMore';
import { useSearchState } from '../../ui/search_state';
import { type Column, Table } from '../../ui/Table';
import { JobFilters, filterOf, searchOf } from './JobFilters';
import { JobProgress } from './JobProgress';
import { JobName, JobPicture } from './JobSlide';
import { type Job, type JobFilter, useJobs } from './jobs';

const COLUMNS: readonly Column<Job>[] = [
  { title: 'Picture', hideTitle: true, cell: (job) => <JobPicture {...job} /> },
  { title: 'Slide', isRowHeader: true, cell: (job) => <JobName {...job} /> },
  {
    title: 'Model',
    cell: ({ model, model_version }) => (
      <>
        <span className="whitespace-nowrap">{model}</span>
        <p className="text-muted">{model_version}</p>
      </>
    ),
  },
  { title: 'Status', cell: (job) => <JobProgress job={job} /> },
  {
    title: 'Asked for',
    cell: ({ created_at, created_by, priority }) => (
      <div className="min-w-24">
        <time dateTime={created_at}>{moment(created_at)}</time>
        {created_by !== null && <p className="max-w-56 wrap-anywhere text-muted max-lg:text-xs">{created_by}</p>}
        {priority !== 'normal' && <p className="text-muted capitalize">{priority} priority</p>}
      </div>
    ),
  },
  {
    title: 'Cost',
    isNumber: true,
    isForWide: true,
    cell: ({ dollars }) => <span className="whitespace-nowrap">{dollars === null ? '–' : money(dollars)}</span>,
  },
];

export default function JobsPage() {
  const [filter, change] = useSearchState(filterOf, searchOf);
  const jobs = useJobs(filter);
  const mayAnalyse = useMay('analyst');
  return (
    <Page title="Jobs" actions={mayAnalyse && <ButtonLink to="/slides">Choose slides to analyse</ButtonLink>}>
      <JobFilters filter={filter} onChange={change} />
      {jobs.isError && <Problem error={jobs.error} onRetry={() => void jobs.refetch()} />}
      {jobs.isPending && <Loading label="Loading jobs" className="h-96" />}
      {jobs.isSuccess && jobs.items.length === 0 && <Nothing filter={filter} />}
      {jobs.items.length > 0 && (
        <>
          <Table caption="Jobs, newest first" columns={COLUMNS} rows={jobs.items} keyOf={(job) => job.job_id} />
          <ShowMore pages={jobs} />
        </>
      )}
    </Page>
  );
}

function Nothing({ filter }: { filter: JobFilter }) {
  return filter.q || filter.status || filter.model || filter.mine ? (
    <EmptyState title="No job matches">Look for another slide or label, or choose another status, model or person.</EmptyState>
  ) : (
    <EmptyState title="No jobs yet" action={<ButtonLink to="/slides">Go to the slides</ButtonLink>}>
      A job is one model over one slide. Those of your organisation appear here with their progress.
    </EmptyState>
  );
}
