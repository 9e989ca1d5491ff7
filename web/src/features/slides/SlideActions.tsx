import { useState } from 'react';
import { useNavigate } from 'react-router';
import { useHasRole } from '../../session/roles';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Problem } from '../../ui/messages/Problem';
import { Select } from '../../ui/fields/Select';
import { useToasts } from '../../ui/messages/toast_context';
import { type SlideAction, type Slide, type Tier, useSlideAction } from './queries';

const TIERS: readonly { value: Tier; label: string }[] = [
  { value: 'standard', label: 'Within 12 hours' },
  { value: 'bulk', label: 'Within 48 hours, for about an eighth of the price' },
];

const TEXTS: Record<SlideAction['kind'], { verb: string; question: string; done: (name: string) => string }> = {
  archive: { verb: 'Archive', question: 'Archive this slide?', done: (name) => `${name} was archived.` },
  restore: { verb: 'Restore', question: 'Restore this slide?', done: (name) => `${name} is being restored.` },
  hold: { verb: 'Hold', question: 'Begin a legal hold?', done: (name) => `${name} is under legal hold.` },
  end_hold: { verb: 'End the hold', question: 'End the legal hold?', done: (name) => `The hold of ${name} has ended.` },
  delete: { verb: 'Delete', question: 'Delete this slide?', done: (name) => `${name} was deleted.` },
};

/** What this user can do with the slide in its present state, each with a confirmation. */
export function SlideActions({ slide }: { slide: Slide }) {
  const [asked, setAsked] = useState<SlideAction['kind'] | null>(null);
  const mayHold = useHasRole('admin');
  const toasts = useToasts();
  const navigate = useNavigate();
  const deed = useSlideAction(slide, async ({ kind }) => {
    setAsked(null);
    toasts.showSuccess(TEXTS[kind].done(slide.name));
    if (kind === 'delete') await navigate('/slides');
  });
  const close = () => {
    if (deed.isPending) return;
    setAsked(null);
    deed.reset();
  };
  return (
    <>
      {listActions(slide, mayHold).map((kind) => (
        <Button
          key={kind}
          look={kind === 'delete' ? 'danger' : 'secondary'}
          onClick={() => {
            setAsked(kind);
          }}
        >
          {TEXTS[kind].verb}
        </Button>
      ))}
      <ConfirmDialog slide={slide} kind={asked ?? 'delete'} isOpen={asked !== null} deed={deed} onClose={close} />
    </>
  );
}

interface ConfirmDialogProps {
  slide: Slide;
  kind: SlideAction['kind'];
  isOpen: boolean;
  deed: ReturnType<typeof useSlideAction>;
  onClose: () => void;
}

/** Asks for confirmation. It stays mounted while closed, so that it returns the focus to the button that opened it. */
function ConfirmDialog({ slide, kind, isOpen, deed, onClose }: ConfirmDialogProps) {
  const [tier, setTier] = useState<Tier>('standard');
  return (
    <Dialog
      title={TEXTS[kind].question}
      open={isOpen}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Keep it as it is</Button>
          <Button
            look={kind === 'delete' ? 'danger' : 'primary'}
            busy={deed.isPending}
            onClick={() => {
              deed.mutate(kind === 'restore' ? { kind, tier } : { kind });
            }}
          >
            {TEXTS[kind].verb}
          </Button>
        </>
      }
    >
      <p className="mb-3 font-medium break-words">{slide.name}</p>
      {kind === 'archive' && (
        <p>
          An archived slide costs little to store, but cannot be viewed or analysed until it is restored, which takes
          hours. Results of its jobs are kept.
        </p>
      )}
      {kind === 'delete' && (
        <p>
          Its files are deleted permanently, with all their versions, its name, its jobs and their results. Of a slide in
          another bucket the files stay there. This cannot be undone.
        </p>
      )}
      {kind === 'hold' && (
        <p>
          Neither the slide nor its jobs can be deleted, by anybody or by age, until an admin ends the hold. Keep the reason
          with your case: it is not recorded here.
        </p>
      )}
      {kind === 'end_hold' && (
        <p>The slide and its jobs can be deleted again. What is older than your installation keeps it is deleted at once.</p>
      )}
      {kind === 'restore' && (
        <Select
          label="When you need it"
          options={TIERS}
          value={tier}
          onChange={(event) => {
            setTier(event.target.value === 'bulk' ? 'bulk' : 'standard');
          }}
        />
      )}
      {deed.isError && (
        <div className="mt-3">
          <Problem error={deed.error} />
        </div>
      )}
    </Dialog>
  );
}

function listActions({ status, legal_hold }: Slide, mayHold: boolean): readonly SlideAction['kind'][] {
  if (status === 'DELETED') return [];
  const actions: SlideAction['kind'][] = [];
  if (status === 'READY') actions.push('archive');
  if (status === 'ARCHIVED') actions.push('restore');
  if (mayHold && legal_hold) actions.push('end_hold');
  if (mayHold && !legal_hold && status !== 'UPLOADING' && status !== 'UPLOADED') actions.push('hold');
  if (!legal_hold) actions.push('delete');
  return actions;
}
