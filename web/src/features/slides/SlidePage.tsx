import type { ReactNode } from 'react';
import { useParams } from 'react-router';
import { bytes, moment, number } from '../../ui/format';
import { Loading } from '../../ui/Loading';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { SlideStatus } from '../../ui/statuses';
import { type Slide, useSlide } from './slides';

export default function SlidePage() {
  const { slideId = '' } = useParams();
  const slide = useSlide(slideId);
  return (
    <Page title={slide.data?.name ?? 'Slide'}>
      {slide.isError && <Problem error={slide.error} onRetry={() => void slide.refetch()} />}
      {slide.isPending && <Loading label="Loading the slide" className="h-64" />}
      {slide.data && <Facts slide={slide.data} />}
    </Page>
  );
}

function Facts({ slide }: { slide: Slide }) {
  return (
    <dl className="grid max-w-3xl grid-cols-[10rem_1fr] gap-y-2 rounded-lg border border-line bg-raised p-5 text-sm">
      <Fact name="Status">
        <SlideStatus status={slide.status} />
        {slide.sentence && <p className="mt-1">{slide.sentence}</p>}
      </Fact>
      <Fact name="Added">{moment(slide.created_at)}</Fact>
      <Fact name="Size">
        {bytes(slide.size)} in {number(slide.files)} {slide.files === 1 ? 'file' : 'files'}
      </Fact>
      {slide.mpp !== null && <Fact name="Stated scale">{number(slide.mpp, 4)} µm a pixel</Fact>}
      {slide.restored_until && <Fact name="Restored until">{moment(slide.restored_until)}</Fact>}
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
