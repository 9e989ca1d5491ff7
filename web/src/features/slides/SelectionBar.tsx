import { Button, ButtonLink } from '../../ui/Button';
import { MOST_SLIDES, type Selection, makeNewJobAddress } from './selection';

interface Props {
  chosen: Selection;
  onChooseShown: () => void;
  onChooseNone: () => void;
}

/** The number of selected slides, above the list. Its height is constant, so that selecting moves nothing. */
export function SelectionBar({ chosen, onChooseShown, onChooseNone }: Props) {
  const count = chosen.size;
  return (
    <div className="sticky top-0 z-10 mb-3 flex min-h-13 flex-wrap items-center gap-2 rounded-lg border border-line bg-raised px-4 py-2 text-sm">
      <p role="status" className="mr-auto">
        {count === 0 && <span className="text-muted">Select slides to analyse several at once.</span>}
        {count > 0 && `${count} ${count === 1 ? 'slide' : 'slides'} selected${count === MOST_SLIDES ? ', the maximum' : ''}`}
      </p>
      <Button look="quiet" onClick={onChooseShown}>
        Select all shown
      </Button>
      {count > 0 && (
        <>
          <Button look="quiet" onClick={onChooseNone}>
            Clear selection
          </Button>
          <ButtonLink look="primary" to={makeNewJobAddress(chosen)}>
            Analyse {count === 1 ? 'it' : 'them'}
          </ButtonLink>
        </>
      )}
    </div>
  );
}
