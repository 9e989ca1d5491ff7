import { type SubmitEvent, useId, useState } from 'react';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Problem } from '../../ui/messages/Problem';
import { TextField } from '../../ui/fields/TextField';
import { useToasts } from '../../ui/messages/toast_context';
import { useRegistration } from './queries';

const S3_URI = /^s3:\/\/[^/]+\/.+/;

/** Registers a slide that is already in a bucket of the organisation: its bytes stay there. */
export function RegisterDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const form = useId();
  const toasts = useToasts();
  const [address, setAddress] = useState('');
  const [mpp, setMpp] = useState('');
  const [isTried, setTried] = useState(false);
  const registration = useRegistration(({ name }) => {
    toasts.showSuccess(`${name} was registered and is being inspected.`);
    close();
  });
  const faults = findFaults(address, mpp);

  function close() {
    onClose();
    registration.reset();
    setAddress('');
    setMpp('');
    setTried(false);
  }

  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    setTried(true);
    if (registration.isPending || faults.address || faults.mpp) return;
    registration.mutate({ s3_uri: address.trim(), mpp: parseNumber(mpp) });
  };
  return (
    <Dialog
      title="Register a slide in S3"
      open={isOpen}
      onClose={() => {
        if (!registration.isPending) close();
      }}
      actions={
        <>
          <Button
            onClick={() => {
              if (!registration.isPending) close();
            }}
          >
            Cancel
          </Button>
          <Button look="primary" type="submit" form={form} busy={registration.isPending}>
            Register
          </Button>
        </>
      }
    >
      <p className="mb-4">
        The slide stays in its bucket and is read there. This installation must be allowed to read the bucket.
      </p>
      <form id={form} noValidate onSubmit={submit} className="flex flex-col gap-4">
        <TextField
          label="Address"
          hint="s3://bucket/folder/slide.svs"
          inputMode="url"
          autoComplete="off"
          spellCheck={false}
          maxLength={2048}
          value={address}
          error={isTried ? faults.address : undefined}
          onChange={({ target }) => {
            setAddress(target.value);
          }}
        />
        <TextField
          label="Scale (µm per pixel)"
          hint="Leave it empty to use what the file states."
          inputMode="decimal"
          autoComplete="off"
          value={mpp}
          error={isTried ? faults.mpp : undefined}
          onChange={({ target }) => {
            setMpp(target.value);
          }}
        />
      </form>
      {registration.isError && (
        <div className="mt-4">
          <Problem error={registration.error} />
        </div>
      )}
    </Dialog>
  );
}

const parseNumber = (typed: string) => (typed.trim() === '' ? null : Number(typed.trim().replace(',', '.')));

/** Limits are those of the API: docs/openapi.json, SlideToRegister. */
function findFaults(address: string, typed: string): { address?: string; mpp?: string } {
  const mpp = parseNumber(typed);
  return {
    ...(S3_URI.test(address.trim()) ? {} : { address: 'Enter an address such as s3://bucket/folder/slide.svs.' }),
    ...(mpp === null || (mpp > 0 && mpp <= 100) ? {} : { mpp: 'Enter microns per pixel, such as 0.25.' }),
  };
}
