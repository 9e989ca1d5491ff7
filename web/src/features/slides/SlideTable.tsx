import { Link } from 'react-router';
import { formatBytes, formatMoment } from '../../ui/format';
import { ShowMore } from '../../ui/ShowMore';
import { SlideStatus } from '../../ui/statuses';
import { type Column, Table } from '../../ui/Table';
import { Thumbnail } from '../../ui/Thumbnail';
import { type Selection, canBeChosen, toggleSlide } from './selection';
import { type Slide, explainStatus, type useSlides } from './queries';

/** Focused elements scroll to below the selection bar, which stays at the top (WCAG 2.4.11). */
const BELOW_BAR = 'scroll-mt-20';

const COLUMNS: readonly Column<Slide>[] = [
  {
    title: 'Picture',
    hideTitle: true,
    cell: ({ slide_id, version, status }) => <Thumbnail slideId={slide_id} version={version} exists={status === 'READY'} />,
  },
  {
    title: 'Slide',
    isRowHeader: true,
    cell: (slide) => {
      const sentence = explainStatus(slide);
      return (
        <div className="min-w-40">
          <Link to={`/slides/${slide.slide_id}`} className={`${BELOW_BAR} wrap-anywhere text-accent hover:underline`}>
            {slide.name}
          </Link>
          {sentence && <p className="max-w-prose font-normal text-muted">{sentence}</p>}
        </div>
      );
    },
  },
  { title: 'Status', cell: ({ status }) => <SlideStatus status={status} /> },
  { title: 'Size', isNumber: true, cell: ({ size }) => formatBytes(size) },
  { title: 'Added', cell: ({ created_at }) => <time dateTime={created_at}>{formatMoment(created_at)}</time> },
];

interface Props {
  slides: ReturnType<typeof useSlides>;
  chosen: Selection;
  onChoose: ((chosen: Selection) => void) | undefined; // undefined: the user may not analyse
}

export function SlideTable({ slides, chosen, onChoose }: Props) {
  const choice = onChoose && makeChoiceColumn(chosen, onChoose);
  return (
    <>
      <Table
        caption="Slides, newest first"
        columns={choice ? [choice, ...COLUMNS] : COLUMNS}
        rows={slides.items}
        keyOf={(slide) => slide.slide_id}
      />
      <ShowMore pages={slides} />
    </>
  );
}

function makeChoiceColumn(chosen: Selection, onChoose: (chosen: Selection) => void): Column<Slide> {
  return {
    title: 'Choice',
    hideTitle: true,
    cell: (slide) => (
      <input
        type="checkbox"
        aria-label={`Select ${slide.name}`}
        className={`${BELOW_BAR} block size-6 accent-accent disabled:opacity-40`}
        checked={chosen.has(slide.slide_id)}
        disabled={!canBeChosen(slide)}
        onChange={() => {
          onChoose(toggleSlide(chosen, slide.slide_id));
        }}
      />
    ),
  };
}
