import { useMemo } from 'react';
import { Button } from '../../ui/Button';
import { number } from '../../ui/format';
import type { Outcome } from './outcome';
import type { Tile } from './scores';

const MOST = 12;

interface Props {
  outcome: Outcome;
  column: number;
  tiles: number; // by now: the list is made anew as it grows
  onGo: (tile: Tile) => void;
}

/** The tiles with the highest scores, for those who do not point. */
export function TopTiles({ outcome, column, tiles, onGo }: Props) {
  const top = useMemo(() => (tiles > 0 ? outcome.scores.top(column, MOST) : []), [outcome, column, tiles]);
  if (top.length === 0) return null;
  return (
    <details>
      <summary className="cursor-pointer text-sm font-medium">Highest tiles</summary>
      <ol className="mt-2 grid grid-cols-2 gap-1">
        {top.map((tile, place) => (
          <li key={tile.cell}>
            <Button
              look="quiet"
              className="w-full justify-between! tabular-nums"
              aria-label={`Go to tile ${place + 1}, score ${number(tile.scores?.[column] ?? NaN, 4)}`}
              onClick={() => {
                onGo(tile);
              }}
            >
              <span className="text-muted">{place + 1}</span>
              <span>{number(tile.scores?.[column] ?? NaN, 4)}</span>
            </Button>
          </li>
        ))}
      </ol>
    </details>
  );
}
