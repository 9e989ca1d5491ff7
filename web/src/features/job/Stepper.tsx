import type { Stage, Standing } from './stages';

const SPOKEN: Record<Standing, string> = {
  done: 'done',
  now: 'now',
  ahead: 'to come',
  skipped: 'not needed',
  stopped: 'stopped here',
};

const DOT: Record<Standing, string> = {
  done: 'border-accent bg-accent text-on-accent',
  now: 'border-accent bg-raised text-accent',
  ahead: 'border-control bg-raised text-muted',
  skipped: 'border-dashed border-control bg-raised text-muted',
  stopped: 'border-bad bg-bad-soft text-bad',
};

const MARK: Record<Standing, string> = { done: '✓', now: '●', ahead: '', skipped: '–', stopped: '✕' };

/** The way of a job from left to right. */
export function Stepper({ stages }: { stages: readonly Stage[] }) {
  return (
    <ol aria-label="Stages" className="flex">
      {stages.map(({ label, standing }, place) => (
        <li
          key={label}
          aria-current={standing === 'now' || standing === 'stopped' ? 'step' : undefined}
          className="relative flex min-w-0 flex-1 flex-col items-center gap-1.5 text-center text-xs sm:text-sm"
        >
          {place > 0 && (
            <span
              aria-hidden="true"
              className={`absolute top-3 right-[calc(50%+0.8125rem)] left-[calc(-50%+0.8125rem)] h-0.5 ${standing === 'ahead' || standing === 'skipped' ? 'bg-line' : 'bg-accent'}`}
            />
          )}
          <span
            aria-hidden="true"
            className={`flex size-6.5 items-center justify-center rounded-full border-2 text-xs font-bold ${DOT[standing]}`}
          >
            {MARK[standing]}
          </span>
          <span className={standing === 'now' || standing === 'stopped' ? 'font-semibold' : 'text-muted'}>
            {label}
            <span className="sr-only">, {SPOKEN[standing]}</span>
          </span>
        </li>
      ))}
    </ol>
  );
}
