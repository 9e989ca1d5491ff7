import { type ColourMap, makeCssGradient } from './colour_maps';
import { type Range, formatScore, nameColumn } from '../results/column_text';
import type { Column } from '../results/tile_scores';

const DIGITS = 3;

/** The scores that the colours stand for. */
export function ColourLegend({ column, range: { low, high }, map }: { column: Column; range: Range; map: ColourMap }) {
  const [lowest, middle, highest] = [low, (low + high) / 2, high].map((value) => formatScore(value, column, DIGITS));
  return (
    <div role="img" aria-label={`Legend: ${nameColumn(column)} from ${lowest ?? ''} to ${highest ?? ''}`} className="text-xs text-muted">
      <div className="h-3 rounded-sm border border-line" style={{ backgroundImage: makeCssGradient(map) }} />
      <div className="mt-0.5 flex justify-between tabular-nums">
        <span>{lowest}</span>
        <span>{middle}</span>
        <span>{highest}</span>
      </div>
    </div>
  );
}
