import { useState } from 'react';
import { useNavigate } from 'react-router';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Problem } from '../../ui/Problem';
import { Select } from '../../ui/Select';
import { useToasts } from '../../ui/toast_context';
import { type Deed, type Slide, type Tier, useDeed } from './slides';

const TIERS: readonly { value: Tier; label: string }[] = [
  { value: 'standard', label: 'Within 12 hours' },
  { value: 'bulk', label: 'Within 48 hours, for about an eighth of the price' },
];

const WORDS: Record<Deed['kind'], { verb: string; question: string; done: (name: string) => string }> = {
  archive: { verb: 'Archive', question: 'Archive this slide?', done: (name) => `${name} was archived.` },
  restore: { verb: 'Restore', question: 'Restore this slide?', done: (name) => `${name} is being restored.` },
  delete: { verb: 'Delete', question: 'Delete this slide?', done: (name) => `${name} was deleted.` },
};

/** What an analyst can do with the slide in the state that it is in, each after a question. */
export function SlideDeeds({ slide }: { slide: Slide }) {
  const [asked, setAsked] = useState<Deed['kind'] | null>(null);
  const say = useToasts();
  const navigate = useNavigate();
  const deed = useDeed(slide, async ({ kind }) => {
    setAsked(null);
    say.done(WORDS[kind].done(slide.name));
    if (kind === 'delete') await navigate('/slides');
  });
  const close = () => {
    if (deed.isPending) return;
    setAsked(null);
    deed.reset();
  };
  return (
    <>
      {deedsFor(slide).map((kind) => (
        <Button
          key={kind}
          look={kind === 'delete' ? 'danger' : 'secondary'}
          onClick={() => {
            setAsked(kind);
          }}
        >
          {WORDS[kind].verb}
        </Button>
      ))}
      <Question slide={slide} kind={asked ?? 'delete'} isOpen={asked !== null} deed={deed} onClose={close} />
    </>
  );
}

interface QuestionProps {
  slide: Slide;
  kind: Deed['kind'];
  isOpen: boolean;
  deed: ReturnType<typeof useDeed>;
  onClose: () => void;
}

/** It stays in the page while it is closed, so that it gives the focus back to the button that opened it. */
function Question({ slide, kind, isOpen, deed, onClose }: QuestionProps) {
  const [tier, setTier] = useState<Tier>('standard');
  return (
    <Dialog
      title={WORDS[kind].question}
      open={isOpen}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Leave it as it is</Button>
          <Button
            look={kind === 'delete' ? 'danger' : 'primary'}
            busy={deed.isPending}
            onClick={() => {
              deed.mutate(kind === 'restore' ? { kind, tier } : { kind });
            }}
          >
            {WORDS[kind].verb}
          </Button>
        </>
      }
    >
      <p className="mb-3 font-medium break-words">{slide.name}</p>
      {kind === 'archive' && (
        <p>
          It costs little to keep there, and can be neither looked at nor analysed until it is restored, which takes
          hours. Results of its jobs stay.
        </p>
      )}
      {kind === 'delete' && (
        <p>Its files are deleted for good, with all their versions. Results of its jobs stay. This can not be undone.</p>
      )}
      {kind === 'restore' && (
        <Select
          label="How soon it is needed"
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

function deedsFor({ status }: Slide): readonly Deed['kind'][] {
  if (status === 'DELETED') return [];
  if (status === 'READY') return ['archive', 'delete'];
  return status === 'ARCHIVED' ? ['restore', 'delete'] : ['delete'];
}
