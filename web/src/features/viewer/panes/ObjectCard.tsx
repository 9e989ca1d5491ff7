import { formatNumber } from '../../../ui/format';
import { describeMeasurement } from '../results/measurement_text';
import type { FoundObject } from '../results/found_objects';

const MOST = 8; // measurements

/** Class, measurements and position of the object that was clicked, or that the pointer is on. */
export function ObjectCard({ object: { name, colour, box, measurements }, isChosen }: { object: FoundObject; isChosen: boolean }) {
  const rows = measurements.slice(0, MOST).map(([label, value]) => describeMeasurement(label, value));
  return (
    <div role="group" aria-label={isChosen ? 'Chosen object' : 'Object under the pointer'} className="max-w-64 rounded-md bg-raised/95 px-3 py-2 text-xs shadow">
      <p className="flex items-center gap-2 font-semibold">
        <Swatch colour={colour} />
        {name}
      </p>
      {measurements.length > 0 && (
        <table className="mt-1 w-full">
          <caption className="sr-only">Measurements of this object</caption>
          <tbody>
            {rows.map(([label, value]) => (
              <tr key={label}>
                <th scope="row" className="pr-4 text-left [font-weight:inherit] break-all">
                  {label}
                </th>
                <td className="text-right tabular-nums">{value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {measurements.length > MOST && <p className="text-muted">and {measurements.length - MOST} more in the file</p>}
      <p className="mt-1 text-muted tabular-nums">
        x {formatNumber(box.x)}, y {formatNumber(box.y)} px
      </p>
    </div>
  );
}

export function Swatch({ colour }: { colour: string }) {
  return (
    <svg viewBox="0 0 10 10" className="size-2.5 shrink-0" aria-hidden="true">
      <rect width="10" height="10" rx="2" fill={colour} />
    </svg>
  );
}
