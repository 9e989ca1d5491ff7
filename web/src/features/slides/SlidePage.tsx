import { Link, useParams } from 'react-router';
import { inspectionOf } from '../../api/inspection';
import { useMay } from '../../session/roles';
import { ButtonLink } from '../../ui/Button';
import { Loading } from '../../ui/Loading';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { Thumbnail } from '../../ui/Thumbnail';
import { Correction } from './Correction';
import { canBeCorrected } from './correction_rules';
import { newJobAddress } from './selection';
import { SlideDeeds } from './SlideDeeds';
import { SlideFacts } from './SlideFacts';
import { SlideJobs } from './SlideJobs';
import { type Slide, useSlide } from './slides';

export default function SlidePage() {
  const { slideId = '' } = useParams();
  const slide = useSlide(slideId);
  return (
    <Page title={slide.data?.name ?? 'Slide'} actions={slide.data && <Ways slide={slide.data} />}>
      {slide.isError && <Problem error={slide.error} onRetry={() => void slide.refetch()} />}
      {slide.isPending && <Loading label="Loading the slide" className="h-96" />}
      {slide.data && <Seen slide={slide.data} />}
    </Page>
  );
}

function Ways({ slide }: { slide: Slide }) {
  const mayWrite = useMay('analyst');
  const isReady = slide.status === 'READY';
  return (
    <>
      {isReady && <ButtonLink to={`/view/${slide.slide_id}`}>Look at it</ButtonLink>}
      {mayWrite && <SlideDeeds slide={slide} />}
      {mayWrite && <Correction key={slide.version} slide={slide} />}
      {mayWrite && slide.status === 'REJECTED' && (
        <ButtonLink look={canBeCorrected(slide) ? 'secondary' : 'primary'} to="/upload">
          Upload it again
        </ButtonLink>
      )}
      {mayWrite && isReady && (
        <ButtonLink look="primary" to={newJobAddress([slide.slide_id])}>
          Analyse it
        </ButtonLink>
      )}
    </>
  );
}

function Seen({ slide }: { slide: Slide }) {
  const warnings = inspectionOf(slide)?.warnings ?? [];
  const isReady = slide.status === 'READY';
  const picture = <Thumbnail slideId={slide.slide_id} version={slide.version} exists={isReady} size="large" />;
  return (
    <>
      <div className="grid items-start gap-5 md:grid-cols-[2fr_3fr]">
        {isReady ? (
          <Link to={`/view/${slide.slide_id}`} aria-label={`Look at ${slide.name}`} className="block rounded-lg border border-line">
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
        What inspection noticed
      </h2>
      <ul className="mt-1 list-disc pl-5">
        {warnings.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
    </section>
  );
}
