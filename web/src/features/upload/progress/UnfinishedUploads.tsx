import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useApi } from '../../../api/context';
import { Button } from '../../../ui/Button';
import { formatBytes, formatMoment } from '../../../ui/format';
import { Problem } from '../../../ui/messages/Problem';
import { useToasts } from '../../../ui/messages/toast_context';
import { type UnfinishedUpload, listUnfinished } from '../transfer/resume';
import { CancelDialog } from './CancelDialog';
import { useUploads, useUploadsView } from '../context';
import { forget } from '../transfer/remembered_uploads';
import { UploadServer } from '../transfer/upload_server';
import type { UploadLine } from '../transfer/uploads_view';

const QUERY_KEY = ['slides', 'unfinished'];

/** Uploads from this browser that a reload, a closed tab or a sleeping machine interrupted. */
export function UnfinishedUploads() {
  const api = useApi();
  const uploads = useUploads();
  const { lines } = useUploadsView();
  const found = useQuery({
    queryKey: QUERY_KEY,
    queryFn: async ({ signal }) => listUnfinished(new UploadServer(api), await uploads.lockedIds(), signal),
  });
  const rest = (found.data ?? []).filter((one) => !lines.some((line) => isListed(one, line)));
  if (found.isError) return <Problem error={found.error} onRetry={() => void found.refetch()} />;
  if (rest.length === 0) return null;
  return (
    <section aria-labelledby="unfinished" className="mt-6">
      <h2 id="unfinished" className="text-base font-semibold">
        Unfinished uploads
      </h2>
      <p className="mt-1 text-sm text-muted">
        Choose or drop the same files again to continue. Parts that have arrived are not sent again.
      </p>
      <ul className="mt-3 rounded-lg border border-line bg-raised">
        {rest.map((one) => (
          <UnfinishedRow key={one.slideId} one={one} />
        ))}
      </ul>
    </section>
  );
}

/** Whether the list of transfers shows this upload. A slide that was just chosen has no id yet, so name and size decide. */
function isListed(one: UnfinishedUpload, { slideId, name, size }: UploadLine): boolean {
  return slideId === null ? one.name === name && one.size === size : one.slideId === slideId;
}

function UnfinishedRow({ one }: { one: UnfinishedUpload }) {
  const [isAsking, setAsking] = useState(false);
  const drop = useCancelUpload(one);
  const { name, arrived, size, begunAt } = one;
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-b border-line px-4 py-3 text-sm last:border-0">
      <div className="min-w-0">
        <p className="font-medium break-all">{name}</p>
        <p className="text-muted tabular-nums">
          {formatBytes(arrived)} of {formatBytes(size)} have arrived · started {formatMoment(begunAt)}
        </p>
      </div>
      <Button
        look="quiet"
        aria-label={`Cancel ${name}`}
        busy={drop.isPending}
        onClick={() => {
          setAsking(true);
        }}
      >
        Cancel
      </Button>
      <CancelDialog
        name={isAsking ? name : null}
        onClose={() => {
          setAsking(false);
        }}
        onCancel={() => {
          drop.mutate();
        }}
      />
    </li>
  );
}

function useCancelUpload({ slideId, name }: UnfinishedUpload) {
  const api = useApi();
  const queries = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: () => new UploadServer(api).abort(slideId),
    onSuccess: () => {
      forget(slideId);
      toasts.showSuccess(`The upload of ${name} was cancelled.`);
      return queries.invalidateQueries({ queryKey: ['slides'] });
    },
    onError: ({ message }) => {
      toasts.showError(message);
    },
  });
}
