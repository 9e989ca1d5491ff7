import { useCallback } from 'react';
import { SearchField } from '../../ui/fields/SearchField';
import { StatusSelect } from '../../ui/fields/StatusSelect';
import { SLIDE_STATES } from '../../ui/statuses';
import type { SlideFilter } from './queries';

interface Props {
  filter: SlideFilter;
  onChange: (changes: Partial<SlideFilter>) => void;
}

export function SlideFilters({ filter, onChange }: Props) {
  const search = useCallback(
    (q: string) => {
      onChange({ q });
    },
    [onChange],
  );
  return (
    <div role="search" className="mb-4 flex flex-wrap gap-3">
      <SearchField label="Name" value={filter.q} onSearch={search} />
      <StatusSelect
        statuses={SLIDE_STATES}
        className="w-48"
        value={filter.status}
        onChange={(status) => {
          onChange({ status });
        }}
      />
    </div>
  );
}
