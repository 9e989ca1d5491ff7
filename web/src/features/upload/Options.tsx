import { TextField } from '../../ui/TextField';
import type { Typed, Wrong } from './options';

interface Props {
  typed: Typed;
  wrong: Wrong;
  onChange: (typed: Typed) => void;
}

/** What most slides say themselves. */
export function Options({ typed, wrong, onChange }: Props) {
  const field = (name: keyof Typed) => ({
    value: typed[name],
    error: wrong[name],
    autoComplete: 'off',
    onChange: (event: { target: HTMLInputElement }) => {
      onChange({ ...typed, [name]: event.target.value });
    },
  });
  return (
    <details className="mt-3 rounded-lg border border-line bg-raised px-4 py-2.5 text-sm">
      <summary className="cursor-pointer font-medium">Advanced: what the file does not say</summary>
      <p className="mt-2 text-muted">It holds for what you add next, once. Leave it empty where the file says it itself.</p>
      <div className="mt-3 grid gap-4 pb-2 sm:grid-cols-2">
        <TextField label="Scale (µm a pixel)" hint="At full resolution, such as 0.25" inputMode="decimal" {...field('mpp')} />
        <TextField label="Optical path" hint="Identifier, of a DICOM slide with several" {...field('opticalPath')} />
        <TextField
          label="Focal plane"
          hint="Number, of a DICOM slide with several; 1 is nearest the glass"
          inputMode="numeric"
          {...field('focalPlane')}
        />
        <TextField
          label="Image"
          hint="Number, of a file that holds several scans"
          inputMode="numeric"
          {...field('picture')}
        />
      </div>
    </details>
  );
}
