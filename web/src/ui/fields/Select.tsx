import type { ComponentProps } from 'react';
import { CONTROL, Field, type FieldProps } from './Field';

export interface Option {
  value: string;
  label: string;
  disabled?: boolean;
}

type Props = FieldProps & Omit<ComponentProps<'select'>, 'id' | 'className' | 'children'> & { options: readonly Option[] };

export function Select({ label, hint, error, hideLabel, className, options, ...select }: Props) {
  return (
    <Field {...{ label, hint, error }} hideLabel={hideLabel ?? false} className={className ?? ''}>
      {(wiring) => (
        <select {...select} {...wiring} className={CONTROL}>
          {options.map(({ value, label: text, disabled }) => (
            <option key={value} value={value} disabled={disabled}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
