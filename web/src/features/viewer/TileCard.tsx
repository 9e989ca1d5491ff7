import { number } from '../../ui/format';
import type { Column, Tile } from './scores';

/** What the model says of one tile. It lies over the picture, so that nothing moves when it comes and goes. */
export function TileCard({ tile, columns, shown }: { tile: Tile; columns: readonly Column[]; shown: Column | undefined }) {
  return (
    <div className="max-w-64 rounded-md bg-raised/95 px-3 py-2 text-xs shadow">
      {tile.scores === null ? (
        <p>
          <strong className="font-medium">Could not be read.</strong> {tile.reason}
        </p>
      ) : (
        <table className="w-full">
          <caption className="sr-only">Scores of this tile</caption>
          <tbody>
            {columns.map((column, place) => (
              <tr key={column.name} className={column === shown ? 'font-semibold' : ''}>
                <th scope="row" className="pr-4 text-left [font-weight:inherit] break-all">
                  {column.name}
                </th>
                <td className="text-right tabular-nums">{number(tile.scores?.[place] ?? NaN, 4)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p className="mt-1 text-muted tabular-nums">
        x {number(tile.box.x)}, y {number(tile.box.y)} px
      </p>
    </div>
  );
}
