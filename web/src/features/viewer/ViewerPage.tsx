import { Link, useParams } from 'react-router';
import { Loading } from '../../ui/messages/Loading';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/messages/Problem';
import { loadEngine } from './engine/openseadragon_engine';
import { usePyramid, useSlide } from './results/queries';
import { SlideViewer } from './SlideViewer';

void loadEngine(); // starts to load before the slide's data is there

export default function ViewerPage() {
  const { slideId = '' } = useParams();
  const slide = useSlide(slideId);
  const pyramid = usePyramid(slideId);
  const isGone = slide.data?.status === 'DELETED'; // the browser's cache may still hold its pyramid and tiles
  return (
    <Page
      title={slide.data?.name ?? 'Slide'}
      tab="Slide"
      actions={
        <Link to={`/slides/${slideId}`} className="text-sm text-accent hover:underline">
          About this slide
        </Link>
      }
    >
      {isGone && <Problem error={new Error('The slide was deleted.')} />}
      {pyramid.isError && !isGone && <Problem error={pyramid.error} onRetry={() => void pyramid.refetch()} />}
      {pyramid.isPending && <Loading label="Loading the slide" className="h-[max(26rem,calc(100dvh-11rem))]" />}
      {pyramid.data && !isGone && <SlideViewer key={slideId} slideId={slideId} pyramid={pyramid.data} />}
    </Page>
  );
}
