import { useCallback } from 'react';
import { SearchField } from '../../ui/fields/SearchField';
import { formatMoment } from '../../ui/format';
import { formatFilter, isFiltered, parseFilter } from '../../ui/list_filter';
import { EmptyState } from '../../ui/messages/EmptyState';
import { Loading } from '../../ui/messages/Loading';
import { Problem } from '../../ui/messages/Problem';
import { Page } from '../../ui/Page';
import { ShowMore } from '../../ui/ShowMore';
import { type Column, Table } from '../../ui/Table';
import { useSearchState } from '../../ui/use_search_state';
import { AUDIT_FILTERS, type AuditFilter, type AuditLine, useAuditLog } from './queries';

const COLUMNS: readonly Column<AuditLine>[] = [
  { title: 'Line', isNumber: true, isRowHeader: true, cell: ({ number }) => number },
  { title: 'Time', cell: ({ at }) => <time dateTime={at}>{formatMoment(at)}</time> },
  {
    title: 'Who',
    cell: ({ actor, actor_name }) => (
      <div className="max-w-64 wrap-anywhere">
        {actor_name ?? actor}
        {actor_name !== null && <p className="text-xs text-muted">{actor}</p>}
      </div>
    ),
  },
  { title: 'Action', cell: ({ action }) => <span className="whitespace-nowrap">{action}</span> },
  { title: 'What', cell: ({ subject }) => <span className="wrap-anywhere">{subject}</span> },
  { title: 'Details', isForWide: true, cell: ({ detail }) => <span className="wrap-anywhere">{formatDetail(detail)}</span> },
];

const readFilter = (search: URLSearchParams) => parseFilter(AUDIT_FILTERS, search);

const formatDetail = (detail: AuditLine['detail']) =>
  Object.entries(detail)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');

export default function AuditPage() {
  const [filter, change] = useSearchState(readFilter, formatFilter);
  const lines = useAuditLog(filter);
  return (
    <Page title="Audit log">
      <div role="search" className="mb-4 flex flex-wrap gap-3">
        <FilterField label="Who (user:… or key:…)" name="actor" filter={filter} onChange={change} />
        <FilterField label="Action" name="action" filter={filter} onChange={change} />
        <FilterField label="Id of a slide or job" name="subject" filter={filter} onChange={change} />
      </div>
      {lines.isError && <Problem error={lines.error} onRetry={() => void lines.refetch()} />}
      {lines.isPending && <Loading label="Loading the audit log" className="h-96" />}
      {lines.isSuccess && lines.items.length === 0 && (
        <EmptyState title={isFiltered(filter) ? 'No line matches' : 'No lines yet'}>
          {isFiltered(filter) ? 'Filters match whole values.' : 'What people do and see is recorded here.'}
        </EmptyState>
      )}
      {lines.items.length > 0 && (
        <>
          <Table caption="Audit log, newest first" columns={COLUMNS} rows={lines.items} keyOf={({ number }) => String(number)} />
          <ShowMore pages={lines} />
        </>
      )}
    </Page>
  );
}

interface FilterFieldProps {
  label: string;
  name: keyof AuditFilter;
  filter: AuditFilter;
  onChange: (changes: Partial<AuditFilter>) => void;
}

function FilterField({ label, name, filter, onChange }: FilterFieldProps) {
  const search = useCallback(
    (text: string) => {
      onChange({ [name]: text });
    },
    [name, onChange],
  );
  return <SearchField label={label} className="w-72 max-lg:w-60" value={filter[name]} onSearch={search} />;
}
