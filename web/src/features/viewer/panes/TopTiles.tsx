import { useMemo } from 'react';
import { Button } from '../../../ui/Button';
import { formatNumber } from '../../../ui/format';
import type { TileResults } from '../results/load_results';
import type { Tile } from '../results/tile_scores';

const MOST_TILES = 12;

interface Props {
  results: TileResults;
  column: number;
  tiles: number; // loaded so far: the list is recomputed as they grow
  onGo: (tile: Tile) => void;
}

/** The tiles with the highest scores, for users without a pointer. */
export function TopTiles({ results, column, tiles, onGo }: Props) {
  const top = useMemo(() => (tiles > 0 ? results.scores.highestTiles(column, MOST_TILES) : []), [results, column, tiles]);
  if (top.length === 0) return null;
  return (
    <details>
      <summary className="cursor-pointer text-sm font-medium">Highest-scoring tiles</summary>
      <ol className="mt-2 grid grid-cols-2 gap-1">
        {top.map((tile, place) => (
          <li key={tile.cell}>
            <Button
              look="quiet"
              className="w-full justify-between! tabular-nums"
              aria-label={`Go to tile ${place + 1}, score ${formatNumber(tile.scores?.[column] ?? NaN, 4)}`}
              onClick={() => {
                onGo(tile);
              }}
            >
              <span className="text-muted">{place + 1}</span>
              <span>{formatNumber(tile.scores?.[column] ?? NaN, 4)}</span>
            </Button>
          </li>
        ))}
      </ol>
    </details>
  );
}
