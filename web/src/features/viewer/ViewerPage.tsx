import { Link, useParams } from 'react-router';
import { Loading } from '../../ui/Loading';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { loadEngine } from './openseadragon_engine';
import { usePyramid, useSlide } from './queries';
import { Viewing } from './Viewing';

void loadEngine(); // it is on its way before anybody knows what there is to see

export default function ViewerPage() {
  const { slideId = '' } = useParams();
  const slide = useSlide(slideId);
  const pyramid = usePyramid(slideId);
  const isGone = slide.data?.status === 'DELETED'; // the pyramid and tiles may still lie in the browser's cache
  return (
    <Page
      title={slide.data?.name ?? 'Slide'}
      actions={
        <Link to={`/slides/${slideId}`} className="text-sm text-accent hover:underline">
          About this slide
        </Link>
      }
    >
      {isGone && <Problem error={new Error('The slide was deleted.')} />}
      {pyramid.isError && !isGone && <Problem error={pyramid.error} onRetry={() => void pyramid.refetch()} />}
      {pyramid.isPending && <Loading label="Loading the slide" className="h-[max(26rem,calc(100dvh-11rem))]" />}
      {pyramid.data && !isGone && <Viewing key={slideId} slideId={slideId} pyramid={pyramid.data} />}
    </Page>
  );
}
