import { useMutation } from '@tanstack/react-query';
import { useApi } from '../../api/context';
import { Button } from '../../ui/Button';
import { bytes } from '../../ui/format';
import { Problem } from '../../ui/Problem';
import { inOrder, toolFor } from '../../ui/result_tools';
import { type ResultFile, resultFiles } from './outcome';

/** Links last for minutes and are audited, so that one is asked for when it is used. */
export function Downloads({ jobId, files }: { jobId: string; files: readonly ResultFile[] }) {
  const api = useApi();
  const download = useMutation({
    mutationFn: async (name: string) => {
      const file = (await resultFiles(api, jobId)).find((found) => found.name === name);
      if (file === undefined) throw new Error(`The job has no result ${name} any more: reload the page.`);
      window.location.assign(file.url); // sent as an attachment: the page stays
    },
  });
  return (
    <details>
      <summary className="cursor-pointer text-sm font-medium">Files of this job</summary>
      {download.isError && <Problem error={download.error} />}
      <ul className="mt-2 flex flex-col gap-2">
        {inOrder(files).map(({ name, size }) => (
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
              <span className="font-normal text-muted">{bytes(size)}</span>
            </Button>
            <p className="text-muted">
              {toolFor(name).what}. Opens in: {toolFor(name).opens}
            </p>
          </li>
        ))}
      </ul>
    </details>
  );
}
