import type { Typed, Wrong } from '../../ui/stated';
import { StatedFields } from '../../ui/StatedFields';

interface Props {
  typed: Typed;
  wrong: Wrong;
  onChange: (typed: Typed) => void;
}

export function Options(props: Props) {
  return (
    <details className="mt-3 rounded-lg border border-line bg-raised px-4 py-2.5 text-sm">
      <summary className="cursor-pointer font-medium">Advanced: what the file does not say</summary>
      <p className="mt-2 mb-3 text-muted">It holds for what you add next, once. Leave it empty where the file says it itself.</p>
      <div className="pb-2">
        <StatedFields {...props} />
      </div>
    </details>
  );
}
