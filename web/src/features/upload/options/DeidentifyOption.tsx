import { Checkbox } from '../../../ui/fields/Checkbox';

interface Props {
  isWanted: boolean;
  onChange: (isWanted: boolean) => void;
}

/** Whether to de-identify uploads. A hospital's policy rather than a slide's property, so the setting persists. */
export function DeidentifyOption({ isWanted, onChange }: Props) {
  return (
    <div className="mt-3 rounded-lg border border-line bg-raised px-4 py-3">
      <Checkbox
        label="Remove label and identifiers"
        hint="The label, the macro image and everything that may identify a patient are permanently removed before the slide becomes ready. From then on, its name is its id."
        checked={isWanted}
        onChange={({ target }) => {
          onChange(target.checked);
        }}
      />
    </div>
  );
}
