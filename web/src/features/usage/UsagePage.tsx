import { formatMoney, formatNumber } from '../../ui/format';
import { Select } from '../../ui/fields/Select';
import { EmptyState } from '../../ui/messages/EmptyState';
import { Loading } from '../../ui/messages/Loading';
import { Problem } from '../../ui/messages/Problem';
import { Page } from '../../ui/Page';
import { type Column, Table } from '../../ui/Table';
import { useSearchState } from '../../ui/use_search_state';
import { BudgetNotice } from './BudgetNotice';
import { type By, type Usage, type UsageLine, listMonths, useUsage } from './queries';

const BY: Record<By, string> = { day: 'Day', model: 'Model', person: 'Person' };
const MONTHS_SHOWN = 13; // this month last year too

interface Chosen {
  by: By;
  month: string | null; // null: this month
}

const readChosen = (search: URLSearchParams): Chosen => {
  const by = search.get('by');
  return { by: by === 'model' || by === 'person' ? by : 'day', month: search.get('month') };
};
const formatChosen = ({ by, month }: Chosen): Record<string, string> => ({
  ...(by === 'day' ? {} : { by }),
  ...(month === null ? {} : { month }),
});

export default function UsagePage() {
  const [{ by, month }, change] = useSearchState(readChosen, formatChosen);
  const months = listMonths(new Date(), MONTHS_SHOWN);
  const thisMonth = months[0] ?? '';
  const shown = month !== null && months.includes(month) ? month : thisMonth;
  const usage = useUsage(by, shown);
  return (
    <Page title="Usage">
      <div className="mb-4 flex flex-wrap gap-3">
        <Select
          label="Month"
          value={shown}
          options={months.map((value) => ({ value, label: nameMonth(value) }))}
          onChange={({ target }) => {
            change({ by, month: target.value === thisMonth ? null : target.value });
          }}
        />
        <Select
          label="Show by"
          value={by}
          options={Object.entries(BY).map(([value, label]) => ({ value, label }))}
          onChange={({ target }) => {
            change({ by: target.value as By, month });
          }}
        />
      </div>
      {usage.isError && <Problem error={usage.error} onRetry={() => void usage.refetch()} />}
      {usage.isPending && <Loading label="Loading usage" className="h-96" />}
      {usage.isSuccess && <Report usage={usage.data} />}
    </Page>
  );
}

function Report({ usage }: { usage: Usage }) {
  return (
    <>
      {usage.budget && <BudgetNotice budget={usage.budget} />}
      <p className="mb-3 text-sm text-muted tabular-nums">
        {formatNumber(usage.tiles)} tiles, {formatHours(usage.worker_seconds)} of workers, {formatMoney(usage.dollars)}
      </p>
      {usage.items.length === 0 ? (
        <EmptyState title="No analysis in this month">What analyses take is counted when a part of a slide is done.</EmptyState>
      ) : (
        <Table
          caption={`Usage by ${BY[usage.by].toLowerCase()}`}
          columns={makeColumns(usage)}
          rows={usage.items}
          keyOf={nameLine}
        />
      )}
    </>
  );
}

function makeColumns(usage: Usage): readonly Column<UsageLine>[] {
  const most = Math.max(...usage.items.map((line) => line.worker_seconds), 1);
  return [
    { title: BY[usage.by], isRowHeader: true, cell: (line) => <span className="wrap-anywhere">{nameLine(line)}</span> },
    { title: 'Share', isForWide: true, cell: (line) => <Bar share={line.worker_seconds / most} /> },
    { title: 'Tiles', isNumber: true, cell: (line) => formatNumber(line.tiles) },
    { title: 'Worker hours', isNumber: true, cell: (line) => formatHours(line.worker_seconds) },
    { title: 'Cost', isNumber: true, cell: (line) => formatMoney(line.dollars) },
  ];
}

/** A bar beside numbers that say the same, so it is hidden from screen readers. */
function Bar({ share }: { share: number }) {
  return (
    <svg aria-hidden viewBox="0 0 100 8" preserveAspectRatio="none" className="h-2 w-40 text-accent">
      <rect width={share * 100} height="8" rx="1" fill="currentColor" />
    </svg>
  );
}

function nameLine(line: UsageLine): string {
  if (line.day !== null) return line.day;
  if (line.model !== null) return `${line.model} ${line.model_version ?? ''}`;
  return line.person ?? line.requester ?? 'Before an upgrade';
}

const formatHours = (seconds: number) => `${formatNumber(seconds / 3600, 2)} h`;

const nameMonth = (month: string) =>
  new Date(`${month}-01T00:00:00Z`).toLocaleString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
