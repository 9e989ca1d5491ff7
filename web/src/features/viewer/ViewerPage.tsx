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
  return (
    <Page
      title={slide.data?.name ?? 'Slide'}
      actions={
        <Link to={`/slides/${slideId}`} className="text-sm text-accent hover:underline">
          About this slide
        </Link>
      }
    >
      {pyramid.isError && <Problem error={pyramid.error} onRetry={() => void pyramid.refetch()} />}
      {pyramid.isPending && <Loading label="Loading the slide" className="h-[max(26rem,calc(100dvh-11rem))]" />}
      {pyramid.data && <Viewing key={slideId} slideId={slideId} pyramid={pyramid.data} />}
    </Page>
  );
}
