import { useState } from 'react';
import { CONTROL, Field } from '../../../ui/fields/Field';
import { Select } from '../../../ui/fields/Select';
import { TextField } from '../../../ui/fields/TextField';
import { type Draft, SIDES, type Side } from './draft';
import { readDrawnRegion } from './drawn_region';

const REGIONS: readonly { value: Draft['region']; label: string }[] = [
  { value: 'whole', label: 'The whole slide' },
  { value: 'rectangle', label: 'A rectangle' },
  { value: 'drawn', label: 'Drawn areas (GeoJSON)' },
];

const FRAMES: readonly { value: Draft['frame']; label: string }[] = [
  { value: 'qupath', label: 'As shown in QuPath' },
  { value: 'full', label: 'From the corner of the full image' },
];

const NAMES: Record<Side, string> = { x: 'Left', y: 'Top', width: 'Width', height: 'Height' };

interface Props {
  draft: Draft;
  onChange: (changes: Partial<Draft>) => void;
  fault: string | undefined;
}

export function RegionChoice({ draft, onChange, fault }: Props) {
  return (
    <div className="flex flex-col gap-3">
      <Select
        label="What is analysed"
        className="max-w-xs"
        options={REGIONS}
        value={draft.region}
        onChange={({ target }) => {
          onChange({ region: REGIONS.find(({ value }) => value === target.value)?.value ?? 'whole' });
        }}
      />
      {draft.region === 'rectangle' && (
        <fieldset>
          <legend className="text-sm text-muted">Pixels at full resolution, from the upper left corner</legend>
          <div className="mt-1 grid max-w-xl grid-cols-2 gap-3 sm:grid-cols-4">
            {SIDES.map((side) => (
              <TextField
                key={side}
                label={NAMES[side]}
                inputMode="numeric"
                aria-invalid={fault !== undefined || undefined}
                value={draft.rectangle[side]}
                onChange={({ target }) => {
                  onChange({ rectangle: { ...draft.rectangle, [side]: target.value } });
                }}
              />
            ))}
          </div>
          {fault && <p className="mt-1 text-sm text-bad">{fault}</p>}
        </fieldset>
      )}
      {draft.region === 'drawn' && <DrawnRegion draft={draft} onChange={onChange} fault={fault} />}
    </div>
  );
}

function DrawnRegion({ draft, onChange, fault }: Props) {
  const [wrong, setWrong] = useState<string | undefined>(undefined);
  const take = async (file: File | undefined) => {
    const read = file && (await readDrawnRegion(file));
    setWrong(typeof read === 'string' ? read : undefined);
    onChange({ drawn: file && typeof read === 'object' ? { name: file.name, geojson: read } : null });
  };
  return (
    <div className="grid max-w-xl gap-3 sm:grid-cols-2">
      <Field
        label="GeoJSON file"
        hint="Annotations as exported from QuPath. Everything inside the polygons is analysed, tissue or not."
        error={wrong ?? fault}
      >
        {(wiring) => (
          <input
            {...wiring}
            type="file"
            accept=".geojson,.json,.gz,application/geo+json,application/json,application/gzip"
            className={CONTROL}
            onChange={({ target }) => void take(target.files?.[0])}
          />
        )}
      </Field>
      <Select
        label="Coordinates"
        options={FRAMES}
        value={draft.frame}
        onChange={({ target }) => {
          onChange({ frame: target.value === 'full' ? 'full' : 'qupath' });
        }}
      />
    </div>
  );
}
