import { Select } from '../../../ui/fields/Select';
import { TextField } from '../../../ui/fields/TextField';
import type { Priority } from './draft';
import type { FieldsProps } from './JobOptions';

const PRIORITIES: readonly { value: Priority; label: string }[] = [
  { value: 'high', label: 'High: before all others' },
  { value: 'normal', label: 'Normal' },
  { value: 'low', label: 'Low: when workers are free' },
];

/** The job's label, priority and notifications. */
export function JobFields({ draft, onChange, faults }: FieldsProps) {
  const set = (field: 'label' | 'email' | 'webhook') => ({
    value: draft[field],
    onChange: ({ target }: { target: { value: string } }) => {
      onChange({ [field]: target.value });
    },
  });
  return (
    <section aria-labelledby="handling">
      <h2 id="handling" className="mb-2 text-base font-semibold">
        Job settings
      </h2>
      <div className="grid gap-4 rounded-lg border border-line bg-raised p-4 sm:grid-cols-2">
        <TextField label="Label" hint="For finding the job again. Do not enter patient names." maxLength={200} {...set('label')} />
        <Select
          label="Priority"
          options={PRIORITIES}
          value={draft.priority}
          onChange={({ target }) => {
            onChange({ priority: PRIORITIES.find(({ value }) => value === target.value)?.value ?? 'normal' });
          }}
        />
        <TextField
          label="E-mail when the job ends"
          hint="Contains a link, and nothing about the slide."
          type="email"
          autoComplete="email"
          maxLength={254}
          error={faults.email}
          {...set('email')}
        />
        <TextField
          label="Webhook when the job ends"
          hint="An https address of your own system, which receives a signed request."
          type="url"
          maxLength={2048}
          error={faults.webhook}
          {...set('webhook')}
        />
      </div>
    </section>
  );
}
