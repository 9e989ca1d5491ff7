import type { MouseEvent } from 'react';
import type { Job } from '../../../api/live/job_update';
import { formatBytes } from '../../../ui/format';
import { Loading } from '../../../ui/messages/Loading';
import { Problem } from '../../../ui/messages/Problem';
import { type Column, Table } from '../../../ui/Table';
import { SummaryFigures } from './SummaryFigures';
import { LINK_LIFETIME, type ResultFile, useResults, useSummary } from './queries';
import { isSuccess } from '../progress/stages';
import { sortResultFiles, describeResultFile } from '../../../ui/result_file_kinds';

/** The summary and the files of a job that succeeded. */
export function JobResults({ job }: { job: Job }) {
  const results = useResults(job.job_id, isSuccess(job));
  const summary = useSummary(job.job_id, results.data);
  if (results.isError) return <Problem error={results.error} onRetry={() => void results.refetch()} />;
  if (results.data === undefined) return <Loading label="Loading the results" className="h-96" />;

  async function downloadWithNewLink(name: string): Promise<void> {
    const { data } = await results.refetch();
    const link = data?.find((file) => file.name === name);
    if (link) window.location.assign(link.url);
  }

  const columns: Column<ResultFile>[] = [
    {
      title: 'File',
      isRowHeader: true,
      cell: ({ name }) => (
        <>
          <span className="break-all">{name}</span>
          <span className="block font-normal text-muted">{describeResultFile(name).what}</span>
        </>
      ),
    },
    { title: 'Opens in', cell: ({ name }) => describeResultFile(name).opens },
    { title: 'Size', isNumber: true, cell: ({ size }) => <span className="whitespace-nowrap">{formatBytes(size)}</span> },
    {
      title: 'Download',
      hideTitle: true,
      cell: ({ name, url }) => (
        <a
          href={url}
          className="inline-flex min-h-9 items-center rounded-md border border-control bg-raised px-3.5 font-medium hover:bg-sunken"
          aria-label={`Download ${name}`}
          onClick={(event: MouseEvent) => {
            if (Date.now() - results.dataUpdatedAt < LINK_LIFETIME) return;
            event.preventDefault(); // S3 would only report that the link has expired
            void downloadWithNewLink(name);
          }}
        >
          Download
        </a>
      ),
    },
  ];
  return (
    <>
      <SummaryFigures summary={summary.data} error={summary.error} />
      <section aria-labelledby="files">
        <h2 id="files" className="mb-3 text-base font-semibold">
          Results
        </h2>
        <Table caption="Result files" columns={columns} rows={sortResultFiles(results.data)} keyOf={({ name }) => name} />
      </section>
    </>
  );
}
