import { useCallback } from 'react';
import { SearchField } from '../../ui/SearchField';
import { Select } from '../../ui/Select';
import { StatusSelect } from '../../ui/StatusSelect';
import { JOB_STATES, statusIn } from '../../ui/statuses';
import { type JobFilter, useModels } from './jobs';

const ASKERS = [
  { value: '', label: 'Everybody' },
  { value: 'me', label: 'Me' },
] as const;

/** As it stands in the address. */
export function filterOf(search: URLSearchParams): JobFilter {
  return {
    q: search.get('q') ?? '',
    status: statusIn(JOB_STATES, search.get('status')),
    model: search.get('model') ?? null,
    mine: search.get('mine') === 'true',
  };
}

export function searchOf(filter: JobFilter): Record<string, string> {
  return Object.fromEntries(Object.entries(filter).flatMap(([name, value]) => (value ? [[name, String(value)]] : [])));
}

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
        label="Asked for by"
        className="w-36 max-lg:w-32"
        options={ASKERS}
        value={filter.mine ? 'me' : ''}
        onChange={({ target }) => {
          onChange({ mine: target.value === 'me' });
        }}
      />
    </div>
  );
}
