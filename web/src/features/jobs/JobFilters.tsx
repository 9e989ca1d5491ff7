import { useCallback } from 'react';
import { SearchField } from '../../ui/SearchField';
import { Select } from '../../ui/Select';
import { JOB_STATES, type JobState } from '../../ui/statuses';
import { type JobFilter, useModels } from './jobs';

const STATES = Object.keys(JOB_STATES) as JobState[];
const ALL = { value: '', label: 'All' };
const STATUSES = [ALL, ...STATES.map((state) => ({ value: state, label: JOB_STATES[state].label }))];

/** As it stands in the address. */
export function filterOf(search: URLSearchParams): JobFilter {
  return {
    q: search.get('q') ?? '',
    status: STATES.find((state) => state === search.get('status')) ?? null,
    model: search.get('model') ?? null,
  };
}

export function searchOf(filter: JobFilter): Record<string, string> {
  return Object.fromEntries(Object.entries(filter).flatMap(([name, value]) => (value ? [[name, String(value)]] : [])));
}

interface Props {
  filter: JobFilter;
  onChange: (filter: JobFilter) => void;
}

export function JobFilters({ filter, onChange }: Props) {
  const models = useModels();
  const names = new Set([...(models.data ?? []).map(({ name }) => name), ...(filter.model ? [filter.model] : [])]);
  const search = useCallback(
    (q: string) => {
      onChange({ ...filter, q });
    },
    [filter, onChange],
  );
  return (
    <div role="search" className="mb-4 flex flex-wrap gap-3">
      <SearchField label="Slide or label" value={filter.q} onSearch={search} />
      <Select
        label="Status"
        className="w-60"
        options={STATUSES}
        value={filter.status ?? ''}
        onChange={({ target }) => {
          onChange({ ...filter, status: STATES.find((state) => state === target.value) ?? null });
        }}
      />
      <Select
        label="Model"
        className="w-48"
        options={[ALL, ...[...names].sort().map((name) => ({ value: name, label: name }))]}
        value={filter.model ?? ''}
        onChange={({ target }) => {
          onChange({ ...filter, model: target.value || null });
        }}
      />
    </div>
  );
}
