import { formatNumber } from '../../../ui/format';
import { formatScore, nameColumn } from '../results/column_text';
import type { Column, Tile } from '../results/tile_scores';

/** The scores of one tile. The card is drawn over the slide, so that nothing moves when it appears. */
export function TileCard({ tile, columns, shown }: { tile: Tile; columns: readonly Column[]; shown: Column | undefined }) {
  return (
    <div className="max-w-64 rounded-md bg-raised/95 px-3 py-2 text-xs shadow">
      {tile.scores === null ? (
        <p>
          <strong className="font-medium">Could not be read.</strong> {tile.reason}
        </p>
      ) : columns.length === 0 ? (
        <p className="font-medium">Analysed</p>
      ) : (
        <table className="w-full">
          <caption className="sr-only">Scores of this tile</caption>
          <tbody>
            {columns.map((column, place) => (
              <tr key={column.name} className={column === shown ? 'font-semibold' : ''}>
                <th scope="row" className="pr-4 text-left [font-weight:inherit] break-all">
                  {nameColumn(column)}
                </th>
                <td className="text-right tabular-nums">{formatScore(tile.scores?.[place] ?? NaN, column)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p className="mt-1 text-muted tabular-nums">
        x {formatNumber(tile.box.x)}, y {formatNumber(tile.box.y)} px
      </p>
    </div>
  );
}
