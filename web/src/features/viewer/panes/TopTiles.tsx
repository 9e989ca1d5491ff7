import { useMemo } from 'react';
import { Button } from '../../../ui/Button';
import { formatScore } from '../results/column_text';
import type { TileResults } from '../results/load_results';
import type { Column, Tile } from '../results/tile_scores';

const MOST_TILES = 12;

interface Props {
  results: TileResults;
  column: Column;
  tiles: number; // loaded so far: the list is recomputed as they grow
  onGo: (tile: Tile) => void;
}

/** The tiles with the highest scores, for users without a pointer. */
export function TopTiles({ results, column, tiles, onGo }: Props) {
  const place = results.columns.indexOf(column);
  const scoreOf = (tile: Tile) => formatScore(tile.scores?.[place] ?? NaN, column);
  const top = useMemo(() => (tiles > 0 ? results.scores.highestTiles(place, MOST_TILES) : []), [results, place, tiles]);
  if (top.length === 0) return null;
  return (
    <details>
      <summary className="cursor-pointer text-sm font-medium">Highest-scoring tiles</summary>
      <ol className="mt-2 grid grid-cols-2 gap-1">
        {top.map((tile, rank) => (
          <li key={tile.cell}>
            <Button
              look="quiet"
              className="w-full justify-between! tabular-nums"
              aria-label={`Go to tile ${rank + 1}, score ${scoreOf(tile)}`}
              onClick={() => {
                onGo(tile);
              }}
            >
              <span className="text-muted">{rank + 1}</span>
              <span>{scoreOf(tile)}</span>
            </Button>
          </li>
        ))}
      </ol>
    </details>
  );
}
