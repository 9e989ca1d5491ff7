import { useCallback } from 'react';
import { SearchField } from '../../ui/SearchField';
import { Select } from '../../ui/Select';
import { SLIDE_STATES, type SlideState } from '../../ui/statuses';
import type { SlideFilter } from './slides';

const STATES = Object.keys(SLIDE_STATES) as SlideState[];
const OPTIONS = [
  { value: '', label: 'All' },
  ...STATES.map((state) => ({ value: state, label: SLIDE_STATES[state].label })),
];

export function stateOf(text: string | null): SlideState | null {
  return STATES.find((state) => state === text) ?? null;
}

interface Props {
  filter: SlideFilter;
  onChange: (filter: SlideFilter) => void;
}

export function SlideFilters({ filter, onChange }: Props) {
  const search = useCallback(
    (q: string) => {
      onChange({ ...filter, q });
    },
    [filter, onChange],
  );
  return (
    <div role="search" className="mb-4 flex flex-wrap gap-3">
      <SearchField label="Name" value={filter.q} onSearch={search} />
      <Select
        label="Status"
        className="w-48"
        options={OPTIONS}
        value={filter.status ?? ''}
        onChange={(event) => {
          onChange({ ...filter, status: stateOf(event.target.value) });
        }}
      />
    </div>
  );
}
