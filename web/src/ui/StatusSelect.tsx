import { Select } from './Select';
import { type Shown, statusIn } from './statuses';

interface Props<Status extends string> {
  statuses: Record<Status, Shown>;
  value: Status | null; // null: all
  onChange: (status: Status | null) => void;
  className: string;
}

/** One status to look for, or all. */
export function StatusSelect<Status extends string>({ statuses, value, onChange, className }: Props<Status>) {
  const all = Object.entries<Shown>(statuses).map(([status, { label }]) => ({ value: status, label }));
  return (
    <Select
      label="Status"
      className={className}
      options={[{ value: '', label: 'All' }, ...all]}
      value={value ?? ''}
      onChange={({ target }) => {
        onChange(statusIn(statuses, target.value));
      }}
    />
  );
}
