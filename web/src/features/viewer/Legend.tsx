import { number } from '../../ui/format';
import { type ColourMap, gradientOf } from './colours';
import type { Column } from './scores';

/** Which colour is which score. */
export function Legend({ column, map }: { column: Column; map: ColourMap }) {
  const { low, high, name } = column;
  return (
    <div role="img" aria-label={`Legend: ${name} from ${number(low, 3)} to ${number(high, 3)}`} className="text-xs text-muted">
      <div className="h-3 rounded-sm border border-line" style={{ backgroundImage: gradientOf(map) }} />
      <div className="mt-0.5 flex justify-between tabular-nums">
        <span>{number(low, 3)}</span>
        <span>{number((low + high) / 2, 3)}</span>
        <span>{number(high, 3)}</span>
      </div>
    </div>
  );
}
