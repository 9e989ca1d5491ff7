import { Checkbox } from '../../../ui/fields/Checkbox';
import { TextField } from '../../../ui/fields/TextField';
import type { Draft, Faults } from './draft';
import { RegionChoice } from './RegionChoice';

export interface FieldsProps {
  draft: Draft;
  onChange: (changes: Partial<Draft>) => void;
  faults: Faults;
}

export function MppField({ draft, onChange, faults, hint }: FieldsProps & { hint: string }) {
  return (
    <TextField
      label="Scale in µm per pixel"
      hint={hint}
      error={faults.mpp}
      className="max-w-xs"
      inputMode="decimal"
      value={draft.mpp}
      onChange={({ target }) => {
        onChange({ mpp: target.value });
      }}
    />
  );
}

interface Props extends FieldsProps {
  isOpen: boolean;
  onToggle: (isOpen: boolean) => void;
  hasMpp: boolean; // the field for the scale is here, not above
  hasRegion: boolean; // a region applies to one slide only
}

/** Options that most jobs leave unchanged. */
export function JobOptions({ draft, onChange, faults, isOpen, onToggle, hasMpp, hasRegion }: Props) {
  return (
    <details
      open={isOpen}
      onToggle={(event) => {
        onToggle(event.currentTarget.open);
      }}
      className="rounded-lg border border-line bg-raised"
    >
      <summary className="cursor-pointer px-4 py-3 text-sm font-medium">More options</summary>
      <div className="flex flex-col gap-5 border-t border-line p-4">
        {hasRegion && <RegionChoice draft={draft} onChange={onChange} fault={faults.region} />}
        <TextField
          label="Minimum tissue in a tile, in percent"
          hint="Tiles with less are skipped; at 0, a trace is enough."
          error={faults.minTissue}
          className="max-w-xs"
          inputMode="decimal"
          value={draft.minTissue}
          onChange={({ target }) => {
            onChange({ minTissue: target.value });
          }}
        />
        {hasMpp && (
          <MppField
            {...{ draft, onChange, faults }}
            hint="Only if the slide states a wrong scale. Replaces it for all slides in this form."
          />
        )}
        <Checkbox
          label="Allow upsampling"
          hint="Accept slides that are coarser than the model’s scale. Upsampling adds no detail that was not scanned."
          checked={draft.allowUpsampling}
          onChange={({ target }) => {
            onChange({ allowUpsampling: target.checked });
          }}
        />
        <Checkbox
          label="Fast decoding"
          hint="Faster when the model needs less than full resolution; values differ slightly from exact decoding."
          checked={draft.fast}
          onChange={({ target }) => {
            onChange({ fast: target.checked });
          }}
        />
        <Checkbox
          label="Compute again"
          hint="Even if an identical job has finished. Otherwise its result is shown at once, at no cost."
          checked={draft.force}
          onChange={({ target }) => {
            onChange({ force: target.checked });
          }}
        />
      </div>
    </details>
  );
}
