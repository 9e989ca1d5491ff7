import { useState } from 'react';
import { useMay } from '../../session/roles';
import { Button, ButtonLink } from '../../ui/Button';
import { EmptyState } from '../../ui/EmptyState';
import { Loading } from '../../ui/Loading';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { useSearchState } from '../../ui/search_state';
import { SLIDE_STATES, statusIn } from '../../ui/statuses';
import { RegisterDialog } from './RegisterDialog';
import { SelectionBar } from './SelectionBar';
import { type Selection, withAll } from './selection';
import { SlideFilters } from './SlideFilters';
import { SlideTable } from './SlideTable';
import { type SlideFilter, useSlides } from './slides';

export default function SlidesPage() {
  const [filter, change] = useSearchState(filterOf, searchOf);
  const slides = useSlides(filter);
  const [chosen, setChosen] = useState<Selection>(new Set());
  const mayWrite = useMay('analyst');
  return (
    <Page title="Slides" actions={mayWrite && <WaysIn />}>
      <SlideFilters filter={filter} onChange={change} />
      {mayWrite && (slides.items.length > 0 || chosen.size > 0) && (
        <SelectionBar
          chosen={chosen}
          onChooseShown={() => {
            setChosen(withAll(chosen, slides.items));
          }}
          onChooseNone={() => {
            setChosen(new Set());
          }}
        />
      )}
      {slides.isError && <Problem error={slides.error} onRetry={() => void slides.refetch()} />}
      {slides.isPending && <Loading label="Loading slides" className="h-96" />}
      {slides.isSuccess && slides.items.length === 0 && <Nothing filter={filter} />}
      {slides.items.length > 0 && (
        <SlideTable slides={slides} chosen={chosen} onChoose={mayWrite ? setChosen : undefined} />
      )}
    </Page>
  );
}

function WaysIn() {
  const [isRegistering, setRegistering] = useState(false);
  return (
    <>
      <Button
        look="quiet"
        onClick={() => {
          setRegistering(true);
        }}
      >
        Register a slide in S3
      </Button>
      <ButtonLink to="/upload">Upload slides</ButtonLink>
      <RegisterDialog
        isOpen={isRegistering}
        onClose={() => {
          setRegistering(false);
        }}
      />
    </>
  );
}

function Nothing({ filter }: { filter: SlideFilter }) {
  const mayUpload = useMay('analyst');
  return filter.q || filter.status ? (
    <EmptyState title="No slide matches">Look for another part of the name, or choose another status.</EmptyState>
  ) : (
    <EmptyState
      title="No slides yet"
      action={
        mayUpload && (
          <ButtonLink look="primary" to="/upload">
            Upload slides
          </ButtonLink>
        )
      }
    >
      Slides that are uploaded to your organisation appear here.
    </EmptyState>
  );
}

function filterOf(search: URLSearchParams): SlideFilter {
  return { q: search.get('q') ?? '', status: statusIn(SLIDE_STATES, search.get('status')) };
}

function searchOf({ q, status }: SlideFilter): Record<string, string> {
  return { ...(q ? { q } : {}), ...(status ? { status } : {}) };
}
