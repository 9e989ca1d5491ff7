import { formatNumber } from '../../../ui/format';
import type { FoundObjects } from '../results/found_objects';
import type { ObjectTotals } from '../results/load_results';
import { Swatch } from './ObjectCard';

interface Props {
  totals: ObjectTotals | null; // of the summary
  outlined: FoundObjects | null; // null: not loaded, or hidden
}

/** The number of objects in each class, with the colour of its outlines where they are shown. */
export function ObjectCounts({ totals, outlined }: Props) {
  const colours = new Map(outlined?.packed.classes.map(({ name, colour }) => [name, colour]));
  const counts = totals ? Object.entries(totals.classes) : (outlined?.packed.classes ?? []).map(({ name, count }) => [name, count] as const);
  return (
    <table aria-label="Outlined objects" className="w-full text-xs">
      <tbody>
        {counts.map(([name, count]) => (
          <tr key={name}>
            <th scope="row" className="flex items-center gap-2 py-0.5 text-left [font-weight:inherit] break-all">
              <Swatch colour={colours.get(name) ?? 'transparent'} />
              {name}
            </th>
            <td className="text-right text-muted tabular-nums">{formatNumber(count)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
