import type { ReactNode } from 'react';
import { Button } from '../../ui/Button';
import { duration, money, number } from '../../ui/format';
import { type Estimated, tileCount } from './estimates';

interface Props {
  estimated: Estimated;
  isAsked: boolean; // there is a model, and nothing is filled in wrong
  isMeasured: boolean; // the model's speed is known
  slides: number;
}

/** What it would take, of one size while it is counted anew. */
export function EstimatePanel({ estimated: { isCounting, total, refusals, again }, isAsked, isMeasured, slides }: Props) {
  const shown = isAsked ? total : null;
  return (
    <section aria-labelledby="estimate" aria-busy={isAsked && isCounting} className="max-lg:grow max-lg:basis-96">
      <h2 id="estimate" className="mb-2 text-base font-semibold max-lg:sr-only">
        What it takes
      </h2>
      <dl className="grid grid-cols-[5rem_1fr] gap-y-1.5 text-sm max-lg:flex max-lg:flex-wrap max-lg:gap-x-2 max-lg:gap-y-0">
        <Row name="Tiles">{shown && tileCount(shown)}</Row>
        <Row name="Time">{shown && `about ${duration(shown.seconds)} of one machine`}</Row>
        <Row name="Cost">{shown && (shown.dollars < 0.01 ? money(shown.dollars) : `about ${money(shown.dollars)}`)}</Row>
      </dl>
      <p role="status" className="mt-2 min-h-15 text-sm text-muted max-lg:mt-1 max-lg:min-h-8 max-lg:text-xs">
        {!isAsked && 'Choose a model, and it is counted here.'}
        {isAsked && isCounting && 'Counting …'}
        {shown && words({ ...shown, isMeasured, refused: refusals.size, slides })}
        {isAsked && !isCounting && total === null && 'It can not be counted: the reason stands beside the slide.'}
      </p>
      {isAsked && again && (
        <Button look="quiet" busy={isCounting} onClick={again}>
          Count again
        </Button>
      )}
    </section>
  );
}

interface Told {
  exact: boolean;
  warnings: readonly string[]; // of the drawn region
  shards: number;
  isMeasured: boolean;
  refused: number;
  slides: number;
}

function words({ exact, warnings, shards, isMeasured, refused, slides }: Told): string {
  return [
    exact ? 'The tiles are counted exactly.' : 'The tiles are a near count: tissue is looked for anew when the job begins.',
    ...(shards > 1 ? [`${number(shards)} parts can run side by side.`] : []),
    ...warnings,
    ...(isMeasured ? [] : ['The speed of this model was not measured: time and cost are those of a slow one.']),
    ...(refused > 0 ? [`Without ${refused} of ${slides} slides, which can not be counted.`] : []),
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
