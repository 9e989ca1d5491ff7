import { formatNumber } from '../../../ui/format';
import { type ColourMap, makeCssGradient } from './colour_maps';
import type { Column } from '../results/tile_scores';

/** The scores that the colours stand for. */
export function ColourLegend({ column, map }: { column: Column; map: ColourMap }) {
  const { low, high, name } = column;
  return (
    <div role="img" aria-label={`Legend: ${name} from ${formatNumber(low, 3)} to ${formatNumber(high, 3)}`} className="text-xs text-muted">
      <div className="h-3 rounded-sm border border-line" style={{ backgroundImage: makeCssGradient(map) }} />
      <div className="mt-0.5 flex justify-between tabular-nums">
        <span>{formatNumber(low, 3)}</span>
        <span>{formatNumber((low + high) / 2, 3)}</span>
        <span>{formatNumber(high, 3)}</span>
      </div>
    </div>
  );
}
