import { formatNumber } from '../../../ui/format';
import type { FoundObjects } from '../results/found_objects';
import { Swatch } from './ObjectCard';

/** The number of objects in each class, with the colour of its outlines. */
export function ObjectCounts({ objects }: { objects: FoundObjects }) {
  return (
    <table aria-label="Outlined objects" className="w-full text-xs">
      <tbody>
        {objects.packed.classes.map(({ name, colour, count }) => (
          <tr key={name}>
            <th scope="row" className="flex items-center gap-2 py-0.5 text-left [font-weight:inherit] break-all">
              <Swatch colour={colour} />
              {name}
            </th>
            <td className="text-right text-muted tabular-nums">{formatNumber(count)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
