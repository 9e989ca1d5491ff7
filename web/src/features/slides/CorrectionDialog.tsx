import { type SubmitEvent, useId, useState } from 'react';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Problem } from '../../ui/messages/Problem';
import { parseStated, toTyped } from '../../ui/fields/stated_values';
import { StatedFields } from '../../ui/fields/StatedFields';
import { useToasts } from '../../ui/messages/toast_context';
import { canBeCorrected } from './correction_rules';
import { type Slide, explainStatus, useRestatement } from './queries';

/** Lets the user state the scale or the image of a stored slide, which is then inspected again. */
export function CorrectionDialog({ slide }: { slide: Slide }) {
  const form = useId();
  const toasts = useToasts();
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState(() => toTyped(slide));
  const [isTried, setTried] = useState(false);
  const restatement = useRestatement(slide, ({ name, status }) => {
    toasts.showSuccess(status === 'UPLOADED' ? `${name} is being inspected again.` : `${name} was not changed.`);
    setOpen(false);
  });
  const { stated, wrong } = parseStated(typed);
  if (!canBeCorrected(slide)) return null;

  const close = () => {
    if (restatement.isPending) return;
    setOpen(false);
    setTyped(toTyped(slide));
    setTried(false);
    restatement.reset();
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    setTried(true);
    if (!restatement.isPending && Object.keys(wrong).length === 0) restatement.mutate(stated);
  };
  const isRejected = slide.status === 'REJECTED';
  return (
    <>
      <Button
        look={isRejected ? 'primary' : 'secondary'}
        onClick={() => {
          setOpen(true);
        }}
      >
        Correct
      </Button>
      <Dialog
        title="Correct this slide"
        open={isOpen}
        onClose={close}
        actions={
          <>
            <Button onClick={close}>Keep it as it is</Button>
            <Button look="primary" type="submit" form={form} busy={restatement.isPending}>
              Inspect it again
            </Button>
          </>
        }
      >
        {isRejected && <p className="mb-3">{explainStatus(slide)}</p>}
        <p className="mb-4">
          The slide is inspected again; nothing is uploaded. Leave a field empty to use what the file states.
          {!isRejected && ' Results of its jobs do not change.'}
        </p>
        <form id={form} noValidate onSubmit={submit}>
          <StatedFields typed={typed} wrong={isTried ? wrong : {}} onChange={setTyped} />
        </form>
        {restatement.isError && (
          <div className="mt-4">
            <Problem error={restatement.error} />
          </div>
        )}
      </Dialog>
    </>
  );
}
