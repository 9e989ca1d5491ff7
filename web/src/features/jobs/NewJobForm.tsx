import { type SyntheticEvent, useRef, useState } from 'react';
import { inspectionOf } from '../../api/inspection';
import { Button } from '../../ui/Button';
import { Problem } from '../../ui/Problem';
import { ChosenSlides } from './ChosenSlides';
import { cardOf, keyOf } from './card';
import { type Draft, EMPTY, type Field, bodyOf, faultsOf, numberIn } from './draft';
import { EstimatePanel } from './EstimatePanel';
import { useEstimates } from './estimates';
import { misfits } from './fitness';
import { JobFields } from './JobFields';
import { JobOptions, MppField } from './JobOptions';
import type { Model, Slide } from './jobs';
import { ModelChoice } from './ModelChoice';
import { Outcomes } from './Outcomes';
import { isRefused } from './submission';
import { useSubmission } from './use_submission';

const OPTIONAL: readonly Field[] = ['minTissue', 'region', 'mpp']; // in the part that may be closed

/** On a tablet the estimate is a bar at the lower edge; what takes the focus is scrolled to above it (WCAG 2.4.11). */
const ABOVE_BAR = 'max-lg:**:scroll-mb-40';

interface Props {
  slides: readonly Slide[];
  models: readonly Model[];
  onDrop: (slideId: string) => void;
}

export function NewJobForm({ slides, models, onDrop }: Props) {
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const [isTried, setTried] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const submission = useSubmission();

  const ready = slides.filter(({ status }) => status === 'READY');
  const needsMpp = ready.some((slide) => mppOf(slide) === null);
  const wish = slides.length === 1 ? draft : { ...draft, region: 'whole' as const };
  const faults = faultsOf(wish, { needsMpp });
  const bodies = ready.flatMap(({ slide_id }) => bodyOf(wish, slide_id, { needsMpp }) ?? []);
  const estimated = useEstimates(bodies);
  const model = models.find((each) => draft.model !== null && keyOf(each) === keyOf(draft.model));
  const card = model && cardOf(model);
  const change = (changes: Partial<Draft>) => {
    setDraft((held) => ({ ...held, ...changes }));
  };

  const start = (event: SyntheticEvent) => {
    event.preventDefault();
    if (Object.keys(faults).length === 0) {
      void submission.send(bodies);
      return;
    }
    setTried(true);
    setOpen(isOpen || OPTIONAL.some((field) => faults[field] !== undefined));
    // Once they are marked: the first one is where the eyes and the keyboard go.
    requestAnimationFrame(() => {
      form.current?.querySelector<HTMLElement>('[aria-invalid=true], [data-invalid]')?.focus();
    });
  };

  const failed = submission.outcomes.find(isRefused);
  if (failed && slides.length > 1) {
    return (
      <Outcomes
        outcomes={submission.outcomes}
        slides={slides}
        isBusy={submission.isBusy}
        onTryAgain={() => void submission.send(bodies)}
      />
    );
  }
  const stated = numberIn(draft.mpp);
  const shown = isTried ? faults : {};
  const fields = { draft, onChange: change, faults: shown };
  return (
    <form ref={form} noValidate onSubmit={start} className={`grid items-start gap-6 lg:grid-cols-[1fr_20rem] ${ABOVE_BAR}`}>
      <div className="flex min-w-0 flex-col gap-7">
        <ChosenSlides
          chosen={slides.map((slide) => ({
            slide,
            misfits: card ? misfits(stated === null ? mppOf(slide) : [stated, stated], card, draft) : [],
            refusal: estimated.refusals.get(slide.slide_id),
          }))}
          onDrop={slides.length > 1 ? onDrop : undefined}
        />
        {needsMpp && <MppField {...fields} hint="The slide does not say it, and models need it: ask who scanned it." />}
        <ModelChoice
          models={models}
          chosen={draft.model && keyOf(draft.model)}
          fault={shown.model}
          onChoose={({ name, version }) => {
            change({ model: { name, version } });
          }}
        />
        <JobFields {...fields} />
        <JobOptions {...fields} isOpen={isOpen} onToggle={setOpen} hasMpp={!needsMpp} hasRegion={slides.length === 1} />
      </div>
      <div className="flex flex-col gap-4 rounded-lg border border-line bg-raised p-5 lg:sticky lg:top-4 max-lg:sticky max-lg:bottom-0 max-lg:z-10 max-lg:flex-row max-lg:flex-wrap max-lg:items-center max-lg:rounded-b-none max-lg:px-4 max-lg:py-3">
        <EstimatePanel
          estimated={estimated}
          isAsked={bodies.length > 0}
          isMeasured={card?.isMeasured ?? true}
          slides={ready.length}
        />
        {failed && <Problem error={failed.error} />}
        <Button type="submit" look="primary" busy={submission.isBusy} disabled={ready.length === 0}>
          {ready.length > 1 ? `Start ${ready.length} jobs` : 'Start the job'}
        </Button>
      </div>
    </form>
  );
}

/** µm a pixel that a job takes: what was stated with the upload, which inspection has too, else what the file says. */
function mppOf(slide: Slide): readonly [number, number] | null {
  return slide.mpp === null ? (inspectionOf(slide)?.mpp ?? null) : [slide.mpp, slide.mpp];
}
