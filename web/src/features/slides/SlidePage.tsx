import { Link, useParams } from 'react-router';
import { readInspection } from '../../api/inspection';
import { useHasRole } from '../../session/roles';
import { ButtonLink } from '../../ui/Button';
import { Loading } from '../../ui/messages/Loading';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/messages/Problem';
import { Thumbnail } from '../../ui/Thumbnail';
import { CorrectionDialog } from './CorrectionDialog';
import { canBeCorrected } from './correction_rules';
import { makeNewJobAddress } from './selection';
import { SlideActions } from './SlideActions';
import { SlideFacts } from './SlideFacts';
import { SlideJobs } from './SlideJobs';
import { type Slide, useSlide } from './queries';

export default function SlidePage() {
  const { slideId = '' } = useParams();
  const slide = useSlide(slideId);
  return (
    <Page title={slide.data?.name ?? 'Slide'} tab="Slide" actions={slide.data && <SlideButtons slide={slide.data} />}>
      {slide.isError && <Problem error={slide.error} onRetry={() => void slide.refetch()} />}
      {slide.isPending && <Loading label="Loading the slide" className="h-96" />}
      {slide.data && <SlideDetails slide={slide.data} />}
    </Page>
  );
}

function SlideButtons({ slide }: { slide: Slide }) {
  const mayWrite = useHasRole('analyst');
  const isReady = slide.status === 'READY';
  return (
    <>
      {isReady && <ButtonLink to={`/view/${slide.slide_id}`}>View it</ButtonLink>}
      {mayWrite && <SlideActions slide={slide} />}
      {mayWrite && <CorrectionDialog key={slide.version} slide={slide} />}
      {mayWrite && slide.status === 'REJECTED' && (
        <ButtonLink look={canBeCorrected(slide) ? 'secondary' : 'primary'} to="/upload">
          Upload it again
        </ButtonLink>
      )}
      {mayWrite && isReady && (
        <ButtonLink look="primary" to={makeNewJobAddress([slide.slide_id])}>
          Analyse it
        </ButtonLink>
      )}
    </>
  );
}

function SlideDetails({ slide }: { slide: Slide }) {
  const warnings = readInspection(slide)?.warnings ?? [];
  const isReady = slide.status === 'READY';
  const picture = <Thumbnail slideId={slide.slide_id} version={slide.version} exists={isReady} size="large" />;
  return (
    <>
      <div className="grid items-start gap-5 md:grid-cols-[2fr_3fr]">
        {isReady ? (
          <Link to={`/view/${slide.slide_id}`} aria-label={`View ${slide.name}`} className="block rounded-lg border border-line">
            {picture}
          </Link>
        ) : (
          <div className="rounded-lg border border-line">{picture}</div>
        )}
        <div className="flex flex-col gap-4">
          {warnings.length > 0 && <Warnings warnings={warnings} />}
          <SlideFacts slide={slide} />
        </div>
      </div>
      <SlideJobs slideId={slide.slide_id} />
    </>
  );
}

function Warnings({ warnings }: { warnings: readonly string[] }) {
  return (
    <section aria-labelledby="warnings" className="rounded-lg bg-warn-soft px-5 py-3 text-sm text-warn">
      <h2 id="warnings" className="font-semibold">
        Warnings from inspection
      </h2>
      <ul className="mt-1 list-disc pl-5">
        {warnings.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
    </section>
  );
}
