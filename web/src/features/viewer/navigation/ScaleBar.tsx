import { formatNumber } from '../../../ui/format';
import { formatMagnification, fitScaleBar } from './scale';

/** `scale`: px on the screen per level-0 px; `mpp`: µm per level-0 px, null if unknown. */
export function ScaleBar({ scale, mpp }: { scale: number; mpp: number | null }) {
  const look = 'pointer-events-none absolute bottom-3 left-3 rounded-md bg-raised/90 px-2.5 py-1.5 text-xs text-ink tabular-nums';
  if (mpp === null) return <p className={look}>{formatNumber(scale * 100, 1)} % of full resolution · scale unknown</p>;
  const bar = fitScaleBar(mpp / scale);
  return (
    <div className={`${look} flex items-end gap-3`}>
      <div role="img" aria-label={`Scale bar: ${bar.label}`} className="flex flex-col items-center gap-0.5">
        <span>{bar.label}</span>
        <span className="block h-1.5 border-x-2 border-b-2 border-ink" style={{ width: bar.pixels }} />
      </div>
      <span className="w-12 text-right">{formatMagnification(mpp / scale)}</span>
    </div>
  );
}
