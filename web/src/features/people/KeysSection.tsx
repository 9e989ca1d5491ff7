import { useState } from 'react';
import { Button } from '../../ui/Button';
import { formatMoment } from '../../ui/format';
import { EmptyState } from '../../ui/messages/EmptyState';
import { Loading } from '../../ui/messages/Loading';
import { Problem } from '../../ui/messages/Problem';
import { type Column, Table } from '../../ui/Table';
import { AddDialog } from './AddDialog';
import { ConfirmButton } from './ConfirmButton';
import { type Change, type Key, useChange, useKeys, useNewKey } from './queries';

export function KeysSection() {
  const keys = useKeys();
  const { mutate } = useChange();
  const working = keys.data?.items.filter(({ works }) => works) ?? [];
  return (
    <section aria-labelledby="keys" className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 id="keys" className="text-lg font-semibold">
          API keys
        </h2>
        <NewKeyButton />
      </div>
      {keys.isError && <Problem error={keys.error} onRetry={() => void keys.refetch()} />}
      {keys.isPending && <Loading label="Loading keys" className="h-40" />}
      {keys.isSuccess && working.length === 0 && (
        <EmptyState title="No API keys">Programs such as the command line and scanners sign in with a key.</EmptyState>
      )}
      {working.length > 0 && <Table caption="API keys that work" columns={listColumns(mutate)} rows={working} keyOf={(one) => one.key_id} />}
    </section>
  );
}

function NewKeyButton() {
  const [isOpen, setOpen] = useState(false);
  const adding = useNewKey();
  return (
    <>
      <Button
        onClick={() => {
          setOpen(true);
        }}
      >
        New key
      </Button>
      <AddDialog
        title="New API key"
        label="Name"
        type="text"
        fault="Enter a name, such as the program’s."
        isValid={(name) => name !== ''}
        send="Make the key"
        explanation="Jobs show the name of the key that started them. Give a key no more than its program needs."
        isOpen={isOpen}
        isSending={adding.isPending}
        error={adding.error}
        secret={adding.data ? { label: `Key ${adding.data.name}`, value: adding.data.key } : null}
        onSend={(name, role) => {
          adding.mutate({ name, role });
        }}
        onClose={() => {
          setOpen(false);
          adding.reset();
        }}
      />
    </>
  );
}

const listColumns = (change: (change: Change) => void): readonly Column<Key>[] => [
  {
    title: 'Key',
    isRowHeader: true,
    cell: ({ name, prefix }) => (
      <>
        <span className="wrap-anywhere">{name}</span>
        <p className="font-normal text-muted">tsk_{prefix}_…</p>
      </>
    ),
  },
  { title: 'Role', cell: ({ role }) => role },
  { title: 'Last used', cell: ({ last_used_at }) => (last_used_at === null ? 'never' : formatMoment(last_used_at)) },
  { title: 'Expires', isForWide: true, cell: ({ expires_at }) => (expires_at === null ? 'never' : formatMoment(expires_at)) },
  {
    title: 'Actions',
    hideTitle: true,
    cell: (key) => (
      <ConfirmButton
        label="Revoke"
        name={key.name}
        title={`Revoke the key ${key.name}?`}
        onConfirm={() => {
          change({ kind: 'revoke', key });
        }}
      >
        Programs that use it are refused within a minute. This cannot be undone.
      </ConfirmButton>
    ),
  },
];
