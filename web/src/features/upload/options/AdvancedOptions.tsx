import type { TypedValues, FieldErrors } from '../../../ui/fields/stated_values';
import { StatedFields } from '../../../ui/fields/StatedFields';

interface Props {
  typed: TypedValues;
  wrong: FieldErrors;
  onChange: (typed: TypedValues) => void;
}

export function AdvancedOptions(props: Props) {
  return (
    <details className="mt-3 rounded-lg border border-line bg-raised px-4 py-2.5 text-sm">
      <summary className="cursor-pointer font-medium">Advanced: what the file does not state</summary>
      <p className="mt-2 mb-3 text-muted">Applies once, to the files that you add next. Leave a field empty to use what the file states.</p>
      <div className="pb-2">
        <StatedFields {...props} />
      </div>
    </details>
  );
}
