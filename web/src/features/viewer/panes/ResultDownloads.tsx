import { useMutation } from '@tanstack/react-query';
import { useApi } from '../../../api/context';
import { Button } from '../../../ui/Button';
import { formatBytes } from '../../../ui/format';
import { Problem } from '../../../ui/messages/Problem';
import { sortResultFiles, describeResultFile } from '../../../ui/result_file_kinds';
import { type ResultFile, listResultFiles } from '../results/load_results';

/** Result files to download. Links last for minutes and are audited, so each is requested when it is used. */
export function ResultDownloads({ jobId, files }: { jobId: string; files: readonly ResultFile[] }) {
  const api = useApi();
  const download = useMutation({
    mutationFn: async (name: string) => {
      const file = (await listResultFiles(api, jobId)).find((found) => found.name === name);
      if (file === undefined) throw new Error(`The job has no result ${name} any more: reload the page.`);
      window.location.assign(file.url); // an attachment, so the page stays
    },
  });
  return (
    <details>
      <summary className="cursor-pointer text-sm font-medium">Files of this job</summary>
      {download.isError && <Problem error={download.error} />}
      <ul className="mt-2 flex flex-col gap-2">
        {sortResultFiles(files).map(({ name, size }) => (
          <li key={name} className="text-xs">
            <Button
              look="quiet"
              className="-ml-3.5"
              busy={download.isPending && download.variables === name}
              onClick={() => {
                download.mutate(name);
              }}
            >
              {name}
              <span className="font-normal text-muted">{formatBytes(size)}</span>
            </Button>
            <p className="text-muted">
              {describeResultFile(name).what}. Opens in: {describeResultFile(name).opens}
            </p>
          </li>
        ))}
      </ul>
    </details>
  );
}
