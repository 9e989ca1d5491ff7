import { useHasRole } from '../../../session/roles';
import { ButtonLink } from '../../../ui/Button';
import { EmptyState } from '../../../ui/messages/EmptyState';
import { formatMoment, formatMoney } from '../../../ui/format';
import { formatFilter, isFiltered, parseFilter } from '../../../ui/list_filter';
import { Loading } from '../../../ui/messages/Loading';
import { Page } from '../../../ui/Page';
import { Problem } from '../../../ui/messages/Problem';
import { ShowMore } from '../../../ui/ShowMore';
import { useSearchState } from '../../../ui/use_search_state';
import { type Column, Table } from '../../../ui/Table';
import { JobFilters } from './JobFilters';
import { JobProgress } from './JobProgress';
import { JobName, JobThumbnail } from './JobSlide';
import { JOB_FILTERS, type Job, type JobFilter, useJobs } from '../queries';

const COLUMNS: readonly Column<Job>[] = [
  { title: 'Picture', hideTitle: true, cell: (job) => <JobThumbnail {...job} /> },
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
    title: 'Requested',
    cell: ({ created_at, created_by, priority }) => (
      <div className="min-w-24">
        <time dateTime={created_at}>{formatMoment(created_at)}</time>
        {created_by !== null && <p className="max-w-56 wrap-anywhere text-muted max-lg:text-xs">{created_by}</p>}
        {priority !== 'normal' && <p className="text-muted capitalize">{priority} priority</p>}
      </div>
    ),
  },
  {
    title: 'Cost',
    isNumber: true,
    isForWide: true,
    cell: ({ dollars }) => <span className="whitespace-nowrap">{dollars === null ? '–' : formatMoney(dollars)}</span>,
  },
];

const readFilter = (search: URLSearchParams) => parseFilter(JOB_FILTERS, search);

export default function JobsPage() {
  const [filter, change] = useSearchState(readFilter, formatFilter);
  const jobs = useJobs(filter);
  const mayAnalyse = useHasRole('analyst');
  return (
    <Page title="Jobs" actions={mayAnalyse && <ButtonLink to="/slides">Choose slides to analyse</ButtonLink>}>
      <JobFilters filter={filter} onChange={change} />
      {jobs.isError && <Problem error={jobs.error} onRetry={() => void jobs.refetch()} />}
      {jobs.isPending && <Loading label="Loading jobs" className="h-96" />}
      {jobs.isSuccess && jobs.items.length === 0 && <NoJobs filter={filter} />}
      {jobs.items.length > 0 && (
        <>
          <Table caption="Jobs, newest first" columns={COLUMNS} rows={jobs.items} keyOf={(job) => job.job_id} />
          <ShowMore pages={jobs} />
        </>
      )}
    </Page>
  );
}

function NoJobs({ filter }: { filter: JobFilter }) {
  return isFiltered(filter) ? (
    <EmptyState title="No job matches">Search for another slide or label, or change the filters.</EmptyState>
  ) : (
    <EmptyState title="No jobs yet" action={<ButtonLink to="/slides">Go to the slides</ButtonLink>}>
      A job runs one model on one slide. Your organisation’s jobs appear here with their progress.
    </EmptyState>
  );
}
