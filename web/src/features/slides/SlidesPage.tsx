import { useCallback, useMemo } from 'react';
import { Link, useSearchParams } from 'react-router';
import { Button } from '../../ui/Button';
import { EmptyState } from '../../ui/EmptyState';
import { bytes, moment } from '../../ui/format';
import { Loading } from '../../ui/Loading';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { SlideStatus } from '../../ui/statuses';
import { type Column, Table } from '../../ui/Table';
import { Thumbnail } from '../../ui/Thumbnail';
import { SlideFilters, stateOf } from './SlideFilters';
import { type Slide, type SlideFilter, useSlides } from './slides';

const COLUMNS: readonly Column<Slide>[] = [
  {
    title: 'Picture',
    hideTitle: true,
    cell: ({ slide_id, status }) => <Thumbnail slideId={slide_id} exists={status === 'READY'} />,
  },
  {
    title: 'Slide',
    isRowHeader: true,
    cell: ({ slide_id, name, sentence }) => (
      <>
        <Link to={`/slides/${slide_id}`} className="text-accent hover:underline">
          {name}
        </Link>
        {sentence && <p className="max-w-prose font-normal text-muted">{sentence}</p>}
      </>
    ),
  },
  { title: 'Status', cell: ({ status }) => <SlideStatus status={status} /> },
  { title: 'Size', isNumber: true, cell: ({ size }) => bytes(size) },
  { title: 'Added', cell: ({ created_at }) => <time dateTime={created_at}>{moment(created_at)}</time> },
];

export default function SlidesPage() {
  const [filter, setFilter] = useFilter();
  const slides = useSlides(filter);
  return (
    <Page title="Slides">
      <SlideFilters filter={filter} onChange={setFilter} />
      {slides.isError && <Problem error={slides.error} onRetry={() => void slides.refetch()} />}
      {slides.isPending && <Loading label="Loading slides" className="h-96" />}
      {slides.isSuccess && (slides.items.length > 0 ? <Found slides={slides} /> : <Nothing filter={filter} />)}
    </Page>
  );
}

function Found({ slides }: { slides: ReturnType<typeof useSlides> }) {
  return (
    <>
      <Table caption="Slides, newest first" columns={COLUMNS} rows={slides.items} keyOf={(slide) => slide.slide_id} />
      {slides.hasNextPage && (
        <div className="mt-4 flex justify-center">
          <Button busy={slides.isFetchingNextPage} onClick={() => void slides.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </>
  );
}

function Nothing({ filter }: { filter: SlideFilter }) {
  return filter.q || filter.status ? (
    <EmptyState title="No slide matches">Look for another part of the name, or choose another status.</EmptyState>
  ) : (
    <EmptyState title="No slides yet">Slides that are uploaded to your organisation appear here.</EmptyState>
  );
}

/** In the address, so that it can be sent to a colleague and survives the way back. */
function useFilter(): [SlideFilter, (filter: SlideFilter) => void] {
  const [search, setSearch] = useSearchParams();
  const q = search.get('q') ?? '';
  const status = stateOf(search.get('status'));
  const filter = useMemo(() => ({ q, status }), [q, status]);
  const setFilter = useCallback(
    (next: SlideFilter) => {
      setSearch({ ...(next.q ? { q: next.q } : {}), ...(next.status ? { status: next.status } : {}) }, { replace: true });
    },
    [setSearch],
  );
  return [filter, setFilter];
}
