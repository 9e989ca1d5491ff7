import { Button, ButtonLink } from '../../ui/Button';
import { MOST, type Selection, newJobAddress } from './selection';

interface Props {
  chosen: Selection;
  onChooseShown: () => void;
  onChooseNone: () => void;
}

/** Above the list, always of one height: choosing a slide moves nothing. */
export function SelectionBar({ chosen, onChooseShown, onChooseNone }: Props) {
  const count = chosen.size;
  return (
    <div className="sticky top-0 z-10 mb-3 flex min-h-13 flex-wrap items-center gap-2 rounded-lg border border-line bg-raised px-4 py-2 text-sm">
      <p role="status" className="mr-auto">
        {count === 0 && <span className="text-muted">Tick slides to analyse several at once.</span>}
        {count > 0 && `${count} ${count === 1 ? 'slide' : 'slides'} chosen${count === MOST ? ', the most at once' : ''}`}
      </p>
      <Button look="quiet" onClick={onChooseShown}>
        Choose all shown
      </Button>
      {count > 0 && (
        <>
          <Button look="quiet" onClick={onChooseNone}>
            Choose none
          </Button>
          <ButtonLink look="primary" to={newJobAddress(chosen)}>
            Analyse {count === 1 ? 'it' : 'them'}
          </ButtonLink>
        </>
      )}
    </div>
  );
}
