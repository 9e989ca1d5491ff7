import { Button } from '../../ui/Button';
import { number } from '../../ui/format';
import type { Stray } from './grouping';

const SHOWN = 8;

/** What was chosen and is not uploaded, each with its reason. */
export function Strays({ strays, onClose }: { strays: readonly Stray[]; onClose: () => void }) {
  if (strays.length === 0) return null;
  return (
    <section aria-label="Not uploaded" className="mt-4 rounded-lg bg-warn-soft px-4 py-3 text-sm">
      <div className="flex items-start justify-between gap-3">
        <h2 className="py-1.5 font-medium text-warn">
          Left out
        </h2>
        <Button look="quiet" onClick={onClose}>
          Close
        </Button>
      </div>
      <ul className="flex flex-col gap-1">
        {strays.slice(0, SHOWN).map(({ path, reason }) => (
          <li key={path}>
            <span className="font-medium break-all">{path}</span>: {reason}
          </li>
        ))}
        {strays.length > SHOWN && <li>And {number(strays.length - SHOWN)} more.</li>}
      </ul>
    </section>
  );
}
