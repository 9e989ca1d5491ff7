import type { TypedValues, FieldErrors } from './stated_values';
import { TextField } from './TextField';

interface Props {
  typed: TypedValues;
  wrong: FieldErrors;
  onChange: (typed: TypedValues) => void;
}

/** Fields for values that most slides state themselves: the scale, and the image to use if there are several. */
export function StatedFields({ typed, wrong, onChange }: Props) {
  const field = (name: keyof TypedValues) => ({
    value: typed[name],
    error: wrong[name],
    autoComplete: 'off',
    onChange: (event: { target: HTMLInputElement }) => {
      onChange({ ...typed, [name]: event.target.value });
    },
  });
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <TextField label="Scale (µm per pixel)" hint="At full resolution, such as 0.25" inputMode="decimal" {...field('mpp')} />
      <TextField label="Image" hint="Number, of a file that holds several scans" inputMode="numeric" {...field('picture')} />
      <TextField label="Optical path" hint="Identifier, of a DICOM slide with several" {...field('optical_path')} />
      <TextField
        label="Focal plane"
        hint="Number, of a slide with several; 1 is nearest the glass"
        inputMode="numeric"
        {...field('focal_plane')}
      />
    </div>
  );
}
