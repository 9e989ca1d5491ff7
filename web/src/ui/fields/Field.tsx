import { type ReactNode, useId } from 'react';

export interface FieldProps {
  label: string;
  hint?: string | undefined;
  error?: string | undefined; // one sentence
  hideLabel?: boolean; // hide it visually, if its place makes it clear
  className?: string;
}

interface ControlProps {
  id: string;
  'aria-describedby': string | undefined;
  'aria-invalid': true | undefined;
}

export const CONTROL =
  'min-h-9 w-full rounded-md border border-control bg-raised px-3 py-1.5 text-sm text-ink placeholder:text-muted ' +
  'aria-invalid:border-bad disabled:opacity-60';

/** Label, hint and error of a control, linked to it for screen readers. */
export function Field({
  label,
  hint,
  error,
  hideLabel = false,
  className = '',
  children,
}: FieldProps & { children: (wiring: ControlProps) => ReactNode }) {
  const id = useId();
  const descriptions = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div className={`flex flex-col gap-1 ${className}`}>
      <label htmlFor={id} className={hideLabel ? 'sr-only' : 'text-sm font-medium'}>
        {label}
      </label>
      {children({ id, 'aria-describedby': descriptions || undefined, 'aria-invalid': error ? true : undefined })}
      {hint && (
        <p id={`${id}-hint`} className="text-sm text-muted">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className="text-sm text-bad">
          {error}
        </p>
      )}
    </div>
  );
}
