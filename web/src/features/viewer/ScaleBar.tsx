import { number } from '../../ui/format';
import { magnification, scaleBar } from './scale';

/** `scale`: px on the screen a level-0 px; `mpp`: µm a level-0 px, null where nobody states it. */
export function ScaleBar({ scale, mpp }: { scale: number; mpp: number | null }) {
  const look = 'pointer-events-none absolute bottom-3 left-3 rounded-md bg-raised/90 px-2.5 py-1.5 text-xs text-ink tabular-nums';
  if (mpp === null) return <p className={look}>{number(scale * 100, 1)} % of full resolution · no scale stated</p>;
  const bar = scaleBar(mpp / scale);
  return (
    <div className={`${look} flex items-end gap-3`}>
      <div role="img" aria-label={`Scale bar: ${bar.label}`} className="flex flex-col items-center gap-0.5">
        <span>{bar.label}</span>
        <span className="block h-1.5 border-x-2 border-b-2 border-ink" style={{ width: bar.pixels }} />
      </div>
      <span className="w-12 text-right">{magnification(mpp / scale)}</span>
    </div>
  );
}
