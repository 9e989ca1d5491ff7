import { type SubmitEvent, useId, useState } from 'react';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Problem } from '../../ui/Problem';
import { TextField } from '../../ui/TextField';
import { useToasts } from '../../ui/toast_context';
import { useRegistration } from './slides';

const BUCKET_AND_KEY = /^s3:\/\/[^/]+\/.+/;

/** For slides that lie in a bucket of the organisation already: their bytes stay there. */
export function RegisterDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const form = useId();
  const say = useToasts();
  const [address, setAddress] = useState('');
  const [mpp, setMpp] = useState('');
  const [isTried, setTried] = useState(false);
  const registration = useRegistration(({ name }) => {
    say.done(`${name} was registered and is being inspected.`);
    close();
  });
  const faults = faultsOf(address, mpp);

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
    registration.mutate({ s3_uri: address.trim(), mpp: numberIn(mpp) });
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
            Leave it
          </Button>
          <Button look="primary" type="submit" form={form} busy={registration.isPending}>
            Register
          </Button>
        </>
      }
    >
      <p className="mb-4">
        It stays where it is, and is read there. The bucket must be one that this installation is allowed to read.
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
          label="Scale (µm a pixel)"
          hint="Leave it empty where the file says it itself."
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

const numberIn = (typed: string) => (typed.trim() === '' ? null : Number(typed.trim().replace(',', '.')));

/** Limits are those of the API: docs/openapi.json, SlideToRegister. */
function faultsOf(address: string, typed: string): { address?: string; mpp?: string } {
  const mpp = numberIn(typed);
  return {
    ...(BUCKET_AND_KEY.test(address.trim()) ? {} : { address: 'Give its address, such as s3://bucket/folder/slide.svs.' }),
    ...(mpp === null || (mpp > 0 && mpp <= 100) ? {} : { mpp: 'Give microns a pixel, such as 0.25.' }),
  };
}
