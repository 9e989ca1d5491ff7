import { type SubmitEvent, useId, useState } from 'react';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Problem } from '../../ui/Problem';
import { statedIn, typedOf } from '../../ui/stated';
import { StatedFields } from '../../ui/StatedFields';
import { useToasts } from '../../ui/toast_context';
import { canBeCorrected } from './correction_rules';
import { type Slide, sentenceOn, useRestatement } from './slides';

/** States the scale, or which image is meant, for a slide that is stored already, and has it inspected again. */
export function Correction({ slide }: { slide: Slide }) {
  const form = useId();
  const say = useToasts();
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState(() => typedOf(slide));
  const [isTried, setTried] = useState(false);
  const restatement = useRestatement(slide, ({ name, status }) => {
    say.done(status === 'UPLOADED' ? `${name} is being inspected again.` : `${name} is as it was: nothing was changed.`);
    setOpen(false);
  });
  const { stated, wrong } = statedIn(typed);
  if (!canBeCorrected(slide)) return null;

  const close = () => {
    if (restatement.isPending) return;
    setOpen(false);
    setTyped(typedOf(slide));
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
            <Button onClick={close}>Leave it as it is</Button>
            <Button look="primary" type="submit" form={form} busy={restatement.isPending}>
              Inspect it again
            </Button>
          </>
        }
      >
        {isRejected && <p className="mb-3">{sentenceOn(slide)}</p>}
        <p className="mb-4">
          The slide is inspected again; nothing is uploaded. Leave a field empty where the file says it itself.
          {!isRejected && ' Results of its jobs stay as they are.'}
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
