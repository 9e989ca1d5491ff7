import type { Stage, StageState } from './stages';

const SPOKEN_LABELS: Record<StageState, string> = {
  done: 'done',
  now: 'now',
  ahead: 'to come',
  skipped: 'not needed',
  stopped: 'stopped here',
};

const DOT_LOOKS: Record<StageState, string> = {
  done: 'border-accent bg-accent text-on-accent',
  now: 'border-accent bg-raised text-accent',
  ahead: 'border-control bg-raised text-muted',
  skipped: 'border-dashed border-control bg-raised text-muted',
  stopped: 'border-bad bg-bad-soft text-bad',
};

const MARKS: Record<StageState, string> = { done: '✓', now: '●', ahead: '', skipped: '–', stopped: '✕' };

/** The stages of a job from left to right. */
export function StageStepper({ stages }: { stages: readonly Stage[] }) {
  return (
    <ol aria-label="Stages" className="flex">
      {stages.map(({ label, state }, place) => (
        <li
          key={label}
          aria-current={state === 'now' || state === 'stopped' ? 'step' : undefined}
          className="relative flex min-w-0 flex-1 flex-col items-center gap-1.5 text-center text-xs sm:text-sm"
        >
          {place > 0 && (
            <span
              aria-hidden="true"
              className={`absolute top-3 right-[calc(50%+0.8125rem)] left-[calc(-50%+0.8125rem)] h-0.5 ${state === 'ahead' || state === 'skipped' ? 'bg-line' : 'bg-accent'}`}
            />
          )}
          <span
            aria-hidden="true"
            className={`flex size-6.5 items-center justify-center rounded-full border-2 text-xs font-bold ${DOT_LOOKS[state]}`}
          >
            {MARKS[state]}
          </span>
          <span className={state === 'now' || state === 'stopped' ? 'font-semibold' : 'text-muted'}>
            {label}
            <span className="sr-only">, {SPOKEN_LABELS[state]}</span>
          </span>
        </li>
      ))}
    </ol>
  );
}
