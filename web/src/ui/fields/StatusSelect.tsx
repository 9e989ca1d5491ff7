import { Select } from './Select';
import { type StatusDisplay, parseStatus } from '../statuses';

interface Props<Status extends string> {
  statuses: Record<Status, StatusDisplay>;
  value: Status | null; // null: all
  onChange: (status: Status | null) => void;
  className: string;
}

/** Chooses one status to search for, or all. */
export function StatusSelect<Status extends string>({ statuses, value, onChange, className }: Props<Status>) {
  const all = Object.entries<StatusDisplay>(statuses).map(([status, { label }]) => ({ value: status, label }));
  return (
    <Select
      label="Status"
      className={className}
      options={[{ value: '', label: 'All' }, ...all]}
      value={value ?? ''}
      onChange={({ target }) => {
        onChange(parseStatus(statuses, target.value));
      }}
    />
  );
}
