import { sentenceOf } from '../../api/problem';
import { inspectionOf, mppWords } from '../../api/inspection';
import { Button } from '../../ui/Button';
import { number } from '../../ui/format';
import { SlideStatus } from '../../ui/statuses';
import { Thumbnail } from '../../ui/Thumbnail';
import type { Misfit } from './fitness';
import type { Slide } from './jobs';

export interface Chosen {
  slide: Slide;
  misfits: readonly Misfit[]; // of the model that is chosen
  refusal: unknown; // of the dry run; undefined where there is none
}

interface Props {
  chosen: readonly Chosen[];
  onDrop: ((slideId: string) => void) | undefined; // where one stays
}

export function ChosenSlides({ chosen, onDrop }: Props) {
  return (
    <section aria-labelledby="chosen">
      <h2 id="chosen" className="mb-2 text-base font-semibold">
        {chosen.length === 1 ? 'Slide' : `${chosen.length} slides, a job each`}
      </h2>
      <ul className="divide-y divide-line rounded-lg border border-line bg-raised">
        {chosen.map((each) => (
          <li key={each.slide.slide_id} className="flex items-start gap-4 p-3 text-sm">
            <Thumbnail slideId={each.slide.slide_id} version={each.slide.version} exists={each.slide.status === 'READY'} />
            <Told {...each} />
            {onDrop && (
              <Button
                look="quiet"
                aria-label={`Leave out ${each.slide.name}`}
                onClick={() => {
                  onDrop(each.slide.slide_id);
                }}
              >
                Leave out
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Told({ slide, misfits, refusal }: Chosen) {
  const found = inspectionOf(slide);
  const isReady = slide.status === 'READY';
  const isForeseen = misfits.some(({ tone }) => tone === 'bad'); // the refusal says the same
  return (
    <div className="min-w-0 grow">
      <p className="font-medium break-words">{slide.name}</p>
      <p className="text-muted">
        {found?.mpp ? `${mppWords(found.mpp)} µm per pixel` : 'Its scale is not known'}
        {found && `, tissue on ${number(found.tissueFraction * 100)} % of it`}
      </p>
      {!isReady && (
        <p className="mt-1">
          <SlideStatus status={slide.status} /> <span className="ml-1">It can be analysed once it is ready.</span>
        </p>
      )}
      <ul>
        {misfits.map(({ tone, sentence }) => (
          <li key={sentence} className={`mt-1 ${tone === 'bad' ? 'text-bad' : 'text-warn'}`}>
            {tone === 'bad' ? 'Does not fit: ' : 'Note: '}
            {sentence}
          </li>
        ))}
        {refusal !== undefined && !isForeseen && <li className="mt-1 text-bad">{sentenceOf(refusal)}</li>}
        {found?.warnings.map((warning) => (
          <li key={warning} className="mt-1 text-warn">
            Note: {warning}
          </li>
        ))}
      </ul>
    </div>
  );
}
