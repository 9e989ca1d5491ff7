import { messageOf } from '../../../api/problem';
import { readInspection, formatMpp } from '../../../api/inspection';
import { Button } from '../../../ui/Button';
import { formatNumber } from '../../../ui/format';
import { SlideStatus } from '../../../ui/statuses';
import { Thumbnail } from '../../../ui/Thumbnail';
import type { Misfit } from './model_fit';
import type { Slide } from '../queries';

export interface ChosenSlide {
  slide: Slide;
  misfits: readonly Misfit[]; // with the chosen model
  refusal: unknown; // of the dry run; undefined: none
}

interface Props {
  chosen: readonly ChosenSlide[];
  onDrop: ((slideId: string) => void) | undefined; // undefined: the only slide cannot be dropped
}

export function ChosenSlides({ chosen, onDrop }: Props) {
  return (
    <section aria-labelledby="chosen">
      <h2 id="chosen" className="mb-2 text-base font-semibold">
        {chosen.length === 1 ? 'Slide' : `${chosen.length} slides, one job each`}
      </h2>
      <ul className="divide-y divide-line rounded-lg border border-line bg-raised">
        {chosen.map((each) => (
          <li key={each.slide.slide_id} className="flex items-start gap-4 p-3 text-sm">
            <Thumbnail slideId={each.slide.slide_id} version={each.slide.version} exists={each.slide.status === 'READY'} />
            <SlideSummary {...each} />
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

function SlideSummary({ slide, misfits, refusal }: ChosenSlide) {
  const found = readInspection(slide);
  const isReady = slide.status === 'READY';
  const isForeseen = misfits.some(({ tone }) => tone === 'bad'); // the refusal repeats it
  return (
    <div className="min-w-0 grow">
      <p className="font-medium break-words">{slide.name}</p>
      <p className="text-muted">
        {found?.mpp ? `${formatMpp(found.mpp)} µm per pixel` : 'Scale unknown'}
        {found && `, ${formatNumber(found.tissueFraction * 100)} % tissue`}
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
        {refusal !== undefined && !isForeseen && <li className="mt-1 text-bad">{messageOf(refusal)}</li>}
        {found?.warnings.map((warning) => (
          <li key={warning} className="mt-1 text-warn">
            Note: {warning}
          </li>
        ))}
      </ul>
    </div>
  );
}
