import type { Typed, Wrong } from './stated';
import { TextField } from './TextField';

interface Props {
  typed: Typed;
  wrong: Wrong;
  onChange: (typed: Typed) => void;
}

/** What most slides say themselves: their scale, and which image is meant of several. */
export function StatedFields({ typed, wrong, onChange }: Props) {
  const field = (name: keyof Typed) => ({
    value: typed[name],
    error: wrong[name],
    autoComplete: 'off',
    onChange: (event: { target: HTMLInputElement }) => {
      onChange({ ...typed, [name]: event.target.value });
    },
  });
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <TextField label="Scale (µm a pixel)" hint="At full resolution, such as 0.25" inputMode="decimal" {...field('mpp')} />
      <TextField label="Image" hint="Number, of a file that holds several scans" inputMode="numeric" {...field('picture')} />
      <TextField label="Optical path" hint="Identifier, of a DICOM slide with several" {...field('opticalPath')} />
      <TextField
        label="Focal plane"
        hint="Number, of a slide with several; 1 is nearest the glass"
        inputMode="numeric"
        {...field('focalPlane')}
      />
    </div>
  );
}
