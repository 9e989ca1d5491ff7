import { type SubmitEvent, useId, useState } from 'react';
import type { Role } from '../../session/roles';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Select } from '../../ui/fields/Select';
import { TextField } from '../../ui/fields/TextField';
import { Problem } from '../../ui/messages/Problem';
import { ROLES } from './queries';
import { SecretShown } from './SecretShown';

interface Props {
  title: string;
  label: string; // of the field that names whom or what is added
  type: 'email' | 'text';
  fault: string; // one sentence, for a name that cannot be one
  isValid: (name: string) => boolean;
  send: string; // label of the button
  explanation: string;
  isOpen: boolean;
  isSending: boolean;
  error: Error | null;
  secret: { label: string; value: string } | null; // shown in place of the form, once it is made
  onSend: (name: string, role: Role) => void;
  onClose: () => void;
}

/** Adds a person or a key: a name and a role. */
export function AddDialog({ title, label, type, fault, isValid, send, explanation, onSend, onClose, ...state }: Props) {
  const form = useId();
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [isTried, setTried] = useState(false);
  const close = () => {
    if (state.isSending) return;
    setName('');
    setRole('viewer');
    setTried(false);
    onClose();
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    setTried(true);
    if (!state.isSending && isValid(name.trim())) onSend(name.trim(), role);
  };
  return (
    <Dialog
      title={title}
      open={state.isOpen}
      onClose={close}
      actions={
        state.secret === null ? (
          <>
            <Button onClick={close}>Cancel</Button>
            <Button look="primary" type="submit" form={form} busy={state.isSending}>
              {send}
            </Button>
          </>
        ) : (
          <Button look="primary" onClick={close}>
            Done
          </Button>
        )
      }
    >
      {state.secret === null ? (
        <form id={form} noValidate onSubmit={submit} className="flex flex-col gap-4">
          <p>{explanation}</p>
          <TextField
            label={label}
            type={type}
            autoComplete="off"
            maxLength={type === 'email' ? 254 : 100}
            value={name}
            error={isTried && !isValid(name.trim()) ? fault : undefined}
            onChange={({ target }) => {
              setName(target.value);
            }}
          />
          <Select
            label="Role"
            options={ROLES}
            value={role}
            onChange={({ target }) => {
              setRole(target.value as Role);
            }}
          />
          {state.error && <Problem error={state.error} />}
        </form>
      ) : (
        <SecretShown label={state.secret.label} secret={state.secret.value} />
      )}
    </Dialog>
  );
}
