import { Checkbox } from '../../ui/Checkbox';

interface Props {
  isWanted: boolean;
  onChange: (isWanted: boolean) => void;
}

/** A matter of the hospital rather than of the slide: it stays as it was set. */
export function Deidentification({ isWanted, onChange }: Props) {
  return (
    <div className="mt-3 rounded-lg border border-line bg-raised px-4 py-3">
      <Checkbox
        label="Remove label and identifiers"
        hint="The label, the macro picture and all that may name a patient are removed for good before the slide is ready, and it is called by its id from then on."
        checked={isWanted}
        onChange={({ target }) => {
          onChange(target.checked);
        }}
      />
    </div>
  );
}
