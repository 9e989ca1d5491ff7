import type { ReactNode } from 'react';
import { Button } from '../../../ui/Button';
import { formatDuration, formatMoney, formatNumber } from '../../../ui/format';
import { type Estimates, formatTileCount } from './use_estimates';

interface Props {
  estimated: Estimates;
  isComplete: boolean; // a model is chosen, and the form has no errors
  slides: number;
}

/** The estimated tiles, time and cost. The panel keeps its size while they are recomputed. */
export function EstimatePanel({ estimated: { isCounting, total, refusals, retry }, isComplete, slides }: Props) {
  const shown = isComplete ? total : null;
  return (
    <section aria-labelledby="estimate" aria-busy={isComplete && isCounting} className="max-lg:grow max-lg:basis-96">
      <h2 id="estimate" className="mb-2 text-base font-semibold max-lg:sr-only">
        Estimate
      </h2>
      <dl className="grid grid-cols-[5rem_1fr] gap-y-1.5 text-sm max-lg:flex max-lg:flex-wrap max-lg:gap-x-2 max-lg:gap-y-0">
        <Row name="Tiles">{shown && formatTileCount(shown)}</Row>
        <Row name="Time">{shown && `about ${formatDuration(shown.seconds)} of one machine`}</Row>
        <Row name="Cost">{shown && (shown.dollars < 0.01 ? formatMoney(shown.dollars) : `about ${formatMoney(shown.dollars)}`)}</Row>
      </dl>
      <p role="status" className="mt-2 min-h-15 text-sm text-muted max-lg:mt-1 max-lg:min-h-8 max-lg:text-xs">
        {!isComplete && 'Choose a model to see an estimate.'}
        {isComplete && isCounting && 'Estimating …'}
        {shown && describeEstimate({ ...shown, refused: refusals.size, slides })}
        {isComplete && !isCounting && total === null && 'No estimate is possible: see the reason next to the slide.'}
      </p>
      {isComplete && retry && (
        <Button look="quiet" busy={isCounting} onClick={retry}>
          Estimate again
        </Button>
      )}
    </section>
  );
}

interface EstimateNotes {
  exact: boolean;
  warnings: readonly string[]; // about the drawn region
  shards: number;
  measured: boolean; // the model's speed is known
  refused: number;
  slides: number;
}

function describeEstimate({ exact, warnings, shards, measured, refused, slides }: EstimateNotes): string {
  return [
    exact ? 'The tiles are counted exactly.' : 'The tile count is approximate: the job detects tissue again when it starts.',
    ...(shards > 1 ? [`${formatNumber(shards)} parts can run in parallel.`] : []),
    ...warnings,
    ...(measured ? [] : ['The speed of this model was not measured: time and cost assume a slow model.']),
    ...(refused > 0 ? [`Excludes ${refused} of ${slides} slides, which cannot be estimated.`] : []),
  ].join(' ');
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="font-medium tabular-nums max-lg:mr-4">{children ?? '–'}</dd>
    </>
  );
}
