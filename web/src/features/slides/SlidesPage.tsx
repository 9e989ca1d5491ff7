import { useState } from 'react';
import { useHasRole } from '../../session/roles';
import { Button, ButtonLink } from '../../ui/Button';
import { EmptyState } from '../../ui/messages/EmptyState';
import { formatFilter, isFiltered, parseFilter } from '../../ui/list_filter';
import { Loading } from '../../ui/messages/Loading';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/messages/Problem';
import { useSearchState } from '../../ui/use_search_state';
import { RegisterDialog } from './RegisterDialog';
import { SelectionBar } from './SelectionBar';
import { type Selection, addAll } from './selection';
import { SlideFilters } from './SlideFilters';
import { SlideTable } from './SlideTable';
import { SLIDE_FILTERS, type SlideFilter, useSlides } from './queries';

const readFilter = (search: URLSearchParams) => parseFilter(SLIDE_FILTERS, search);

export default function SlidesPage() {
  const [filter, change] = useSearchState(readFilter, formatFilter);
  const slides = useSlides(filter);
  const [chosen, setChosen] = useState<Selection>(new Set());
  const mayWrite = useHasRole('analyst');
  return (
    <Page title="Slides" actions={mayWrite && <AddSlideButtons />}>
      <SlideFilters filter={filter} onChange={change} />
      {mayWrite && (slides.items.length > 0 || chosen.size > 0) && (
        <SelectionBar
          chosen={chosen}
          onChooseShown={() => {
            setChosen(addAll(chosen, slides.items));
          }}
          onChooseNone={() => {
            setChosen(new Set());
          }}
        />
      )}
      {slides.isError && <Problem error={slides.error} onRetry={() => void slides.refetch()} />}
      {slides.isPending && <Loading label="Loading slides" className="h-96" />}
      {slides.isSuccess && slides.items.length === 0 && <NoSlides filter={filter} />}
      {slides.items.length > 0 && (
        <SlideTable slides={slides} chosen={chosen} onChoose={mayWrite ? setChosen : undefined} />
      )}
    </Page>
  );
}

function AddSlideButtons() {
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

function NoSlides({ filter }: { filter: SlideFilter }) {
  const mayUpload = useHasRole('analyst');
  return isFiltered(filter) ? (
    <EmptyState title="No slide matches">Search for another name, or choose another status.</EmptyState>
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
      Slides uploaded to your organisation appear here.
    </EmptyState>
  );
}
