import { ApiProblem, messageOf } from '../../api/problem';
import { Button } from '../Button';

/** An error, in the API's words, and what the user can do about it. */
export function Problem({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const trace = error instanceof ApiProblem && error.status >= 500 ? error.traceparent : undefined;
  return (
    <div role="alert" className="flex flex-wrap items-center gap-3 rounded-lg bg-bad-soft px-4 py-3 text-sm text-bad">
      <p className="grow">{messageOf(error)}</p>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
      {trace && (
        <p className="w-full text-xs">
          When you ask for help, quote <code className="font-mono">{trace}</code>.
        </p>
      )}
    </div>
  );
}
