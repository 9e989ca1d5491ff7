import { Button } from '../../../ui/Button';
import { formatNumber } from '../../../ui/format';
import type { IgnoredFile } from './slide_grouping';

const SHOWN = 8;

/** Chosen files that are not uploaded, each with its reason. */
export function IgnoredFiles({ files, onClose }: { files: readonly IgnoredFile[]; onClose: () => void }) {
  if (files.length === 0) return null;
  return (
    <section aria-label="Not uploaded" className="mt-4 rounded-lg bg-warn-soft px-4 py-3 text-sm">
      <div className="flex items-start justify-between gap-3">
        <h2 className="py-1.5 font-medium text-warn">
          Not uploaded
        </h2>
        <Button look="quiet" onClick={onClose}>
          Close
        </Button>
      </div>
      <ul className="flex flex-col gap-1">
        {files.slice(0, SHOWN).map(({ path, reason }) => (
          <li key={path}>
            <span className="font-medium break-all">{path}</span>: {reason}
          </li>
        ))}
        {files.length > SHOWN && <li>And {formatNumber(files.length - SHOWN)} more.</li>}
      </ul>
    </section>
  );
}
