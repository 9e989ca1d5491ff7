export type Tone = 'good' | 'warn' | 'bad' | 'busy' | 'plain';

const TONES: Record<Tone, string> = {
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  busy: 'bg-busy-soft text-busy',
  plain: 'bg-sunken text-muted',
};

/** A status as text; the colour only repeats it. */
export function Badge({ tone, children }: { tone: Tone; children: string }) {
  return (
    <span className={`inline-block rounded-full px-2.5 py-0.5 text-xs font-medium whitespace-nowrap ${TONES[tone]}`}>
      {children}
    </span>
  );
}
