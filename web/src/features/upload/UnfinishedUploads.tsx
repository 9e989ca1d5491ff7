import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useApi } from '../../api/context';
import { Button } from '../../ui/Button';
import { bytes, moment } from '../../ui/format';
import { Problem } from '../../ui/Problem';
import { useToasts } from '../../ui/toast_context';
import { type Unfinished, unfinished } from './begun_before';
import { CancelDialog } from './CancelDialog';
import { useUploads, useUploadsView } from './context';
import { forget } from './remembered';
import { UploadServer } from './server';
import type { Line } from './view';

const KEY = ['slides', 'unfinished'];

/** Begun in this browser and broken off: by a reload, a closed tab, a machine that went to sleep. */
export function UnfinishedUploads() {
  const api = useApi();
  const uploads = useUploads();
  const { lines } = useUploadsView();
  const found = useQuery({
    queryKey: KEY,
    queryFn: async ({ signal }) => unfinished(new UploadServer(api), await uploads.taken(), signal),
  });
  const rest = (found.data ?? []).filter((one) => !lines.some((line) => isTakenUp(one, line)));
  if (found.isError) return <Problem error={found.error} onRetry={() => void found.refetch()} />;
  if (rest.length === 0) return null;
  return (
    <section aria-labelledby="unfinished" className="mt-6">
      <h2 id="unfinished" className="text-base font-semibold">
        Unfinished uploads
      </h2>
      <p className="mt-1 text-sm text-muted">
        Choose or drop the same files again: what has arrived is not sent a second time.
      </p>
      <ul className="mt-3 rounded-lg border border-line bg-raised">
        {rest.map((one) => (
          <UnfinishedRow key={one.slideId} one={one} />
        ))}
      </ul>
    </section>
  );
}

/** A slide that was just chosen has no id until it is known which upload it is. */
function isTakenUp(one: Unfinished, { slideId, name, size }: Line): boolean {
  return slideId === null ? one.name === name && one.size === size : one.slideId === slideId;
}

function UnfinishedRow({ one }: { one: Unfinished }) {
  const [isAsking, setAsking] = useState(false);
  const drop = useDrop(one);
  const { name, arrived, size, begunAt } = one;
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-b border-line px-4 py-3 text-sm last:border-0">
      <div className="min-w-0">
        <p className="font-medium break-all">{name}</p>
        <p className="text-muted tabular-nums">
          {bytes(arrived)} of {bytes(size)} have arrived · begun {moment(begunAt)}
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

function useDrop({ slideId, name }: Unfinished) {
  const api = useApi();
  const queries = useQueryClient();
  const say = useToasts();
  return useMutation({
    mutationFn: () => new UploadServer(api).abort(slideId),
    onSuccess: () => {
      forget(slideId);
      say.done(`The upload of ${name} is cancelled.`);
      return queries.invalidateQueries({ queryKey: ['slides'] });
    },
    onError: ({ message }) => {
      say.failed(message);
    },
  });
}
