import type { ComponentProps } from 'react';
import { CONTROL, Field, type FieldProps } from './Field';

type Props = FieldProps & Omit<ComponentProps<'input'>, 'id' | 'className'>;

export function TextField({ label, hint, error, hideLabel, className, ...input }: Props) {
  return (
    <Field {...{ label, hint, error }} hideLabel={hideLabel ?? false} className={className ?? ''}>
      {(wiring) => <input type="text" {...input} {...wiring} className={CONTROL} />}
    </Field>
  );
}
