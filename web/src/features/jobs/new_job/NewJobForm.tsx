import { type SyntheticEvent, useRef, useState } from 'react';
import { readInspection } from '../../../api/inspection';
import { Button } from '../../../ui/Button';
import { Problem } from '../../../ui/messages/Problem';
import { ChosenSlides } from './ChosenSlides';
import { readCard, modelKey } from './model_card';
import { type Draft, EMPTY_DRAFT, type Field, makeBody, findFaults, parseNumber } from './draft';
import { EstimatePanel } from './EstimatePanel';
import { useEstimates } from './use_estimates';
import { findMisfits } from './model_fit';
import { JobFields } from './JobFields';
import { JobOptions, MppField } from './JobOptions';
import type { Model, Slide } from '../queries';
import { ModelChoice } from './ModelChoice';
import { SubmissionOutcomes } from './SubmissionOutcomes';
import { isRefused } from './submission';
import { useSubmission } from './use_submission';

const OPTIONAL_FIELDS: readonly Field[] = ['minTissue', 'region', 'mpp']; // in the collapsible part

/** On a tablet the estimate is a bar at the bottom; focused elements scroll to above it (WCAG 2.4.11). */
const ABOVE_BAR = 'max-lg:**:scroll-mb-40';

interface Props {
  slides: readonly Slide[];
  models: readonly Model[];
  onDrop: (slideId: string) => void;
}

export function NewJobForm({ slides, models, onDrop }: Props) {
  const [draft, setDraft] = useState<Draft>(EMPTY_DRAFT);
  const [isTried, setTried] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const submission = useSubmission();

  const ready = slides.filter(({ status }) => status === 'READY');
  const needsMpp = ready.some((slide) => readMpp(slide) === null);
  const effective = slides.length === 1 ? draft : { ...draft, region: 'whole' as const };
  const faults = findFaults(effective, { needsMpp });
  const bodies = ready.flatMap(({ slide_id }) => makeBody(effective, slide_id, { needsMpp }) ?? []);
  const estimated = useEstimates(bodies);
  const model = models.find((each) => draft.model !== null && modelKey(each) === modelKey(draft.model));
  const card = model && readCard(model);
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
    setOpen(isOpen || OPTIONAL_FIELDS.some((field) => faults[field] !== undefined));
    // After the fields are marked, focus the first one.
    requestAnimationFrame(() => {
      form.current?.querySelector<HTMLElement>('[aria-invalid=true], [data-invalid]')?.focus();
    });
  };

  const failed = submission.outcomes.find(isRefused);
  if (failed && slides.length > 1) {
    return (
      <SubmissionOutcomes
        outcomes={submission.outcomes}
        slides={slides}
        isBusy={submission.isBusy}
        onTryAgain={() => void submission.send(bodies)}
      />
    );
  }
  const stated = parseNumber(draft.mpp);
  const shown = isTried ? faults : {};
  const fields = { draft, onChange: change, faults: shown };
  return (
    <form ref={form} noValidate onSubmit={start} className={`grid items-start gap-6 lg:grid-cols-[1fr_20rem] ${ABOVE_BAR}`}>
      <div className="flex min-w-0 flex-col gap-7">
        <ChosenSlides
          chosen={slides.map((slide) => ({
            slide,
            misfits: card ? findMisfits(stated === null ? readMpp(slide) : [stated, stated], card, draft) : [],
            refusal: estimated.refusals.get(slide.slide_id),
          }))}
          onDrop={slides.length > 1 ? onDrop : undefined}
        />
        {needsMpp && <MppField {...fields} hint="The slide does not state its scale, and models need it. Ask whoever scanned the slide." />}
        <ModelChoice
          models={models}
          chosen={draft.model && modelKey(draft.model)}
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
          isComplete={bodies.length > 0}
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

/** Return the µm per pixel that a job uses: stated with the upload, else from inspection. */
function readMpp(slide: Slide): readonly [number, number] | null {
  return slide.mpp === null ? (readInspection(slide)?.mpp ?? null) : [slide.mpp, slide.mpp];
}
