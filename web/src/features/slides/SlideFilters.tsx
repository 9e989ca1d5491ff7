import { useEffect, useState } from 'react';
import { Select } from '../../ui/Select';
import { SLIDE_STATES, type SlideState } from '../../ui/statuses';
import { TextField } from '../../ui/TextField';
import type { SlideFilter } from './slides';

const PAUSE = 300; // ms in typing after which it is looked for

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
  const [typed, setTyped] = useState(filter.q);
  useEffect(() => {
    if (typed.trim() === filter.q) return undefined;
    const timer = setTimeout(() => {
      onChange({ ...filter, q: typed.trim() });
    }, PAUSE);
    return () => {
      clearTimeout(timer);
    };
  }, [typed, filter, onChange]);
  return (
    <div role="search" className="mb-4 flex flex-wrap gap-3">
      <TextField
        label="Name"
        type="search"
        className="w-72"
        maxLength={200}
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
        }}
      />
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
