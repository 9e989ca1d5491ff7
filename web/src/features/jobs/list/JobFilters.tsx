import { useCallback } from 'react';
import { SearchField } from '../../../ui/fields/SearchField';
import { Select } from '../../../ui/fields/Select';
import { StatusSelect } from '../../../ui/fields/StatusSelect';
import { JOB_STATES } from '../../../ui/statuses';
import { type JobFilter, useModels } from '../queries';

const REQUESTERS = [
  { value: '', label: 'Everybody' },
  { value: 'me', label: 'Me' },
] as const;

interface Props {
  filter: JobFilter;
  onChange: (changes: Partial<JobFilter>) => void;
}

export function JobFilters({ filter, onChange }: Props) {
  const models = useModels();
  const names = new Set([...(models.data ?? []).map(({ name }) => name), ...(filter.model ? [filter.model] : [])]);
  const search = useCallback(
    (q: string) => {
      onChange({ q });
    },
    [onChange],
  );
  return (
    <div role="search" className="mb-4 flex flex-wrap gap-3 max-lg:gap-2">
      <SearchField label="Slide or label" className="w-72 max-lg:w-60" value={filter.q} onSearch={search} />
      <StatusSelect
        statuses={JOB_STATES}
        className="w-60 max-lg:w-48"
        value={filter.status}
        onChange={(status) => {
          onChange({ status });
        }}
      />
      <Select
        label="Model"
        className="w-48 max-lg:w-36"
        options={[{ value: '', label: 'All' }, ...[...names].sort().map((name) => ({ value: name, label: name }))]}
        value={filter.model ?? ''}
        onChange={({ target }) => {
          onChange({ model: target.value || null });
        }}
      />
      <Select
        label="Requested by"
        className="w-36 max-lg:w-32"
        options={REQUESTERS}
        value={filter.mine ? 'me' : ''}
        onChange={({ target }) => {
          onChange({ mine: target.value === 'me' });
        }}
      />
    </div>
  );
}
