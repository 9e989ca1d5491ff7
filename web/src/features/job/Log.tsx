import { useState } from 'react';
import { Button } from '../../ui/Button';
import { type JobEvent, sentenceFor } from './history';

const FEW = 8;

/** What happened, newest first. */
export function Log({ events }: { events: readonly JobEvent[] }) {
  const [isWhole, setWhole] = useState(false);
  const newest = events.toReversed();
  const shown = isWhole ? newest : newest.slice(0, FEW);
  return (
    <section aria-labelledby="log" className="rounded-lg border border-line bg-raised p-5 text-sm">
      <h2 id="log" className="text-base font-semibold">
        What happened
      </h2>
      <ol className="mt-3 min-h-48" reversed>
        {shown.map((event) => (
          <li key={event.seq} className="grid grid-cols-[5.5rem_1fr] gap-3 py-1">
            <time dateTime={event.at} className="text-muted tabular-nums">
              {clock(event.at)}
            </time>
            <span className="min-w-0 break-words">{sentenceFor(event)}</span>
          </li>
        ))}
      </ol>
      {events.length > FEW && (
        <Button
          look="quiet"
          className="mt-2"
          aria-expanded={isWhole}
          onClick={() => {
            setWhole(!isWhole);
          }}
        >
          {isWhole ? 'Show the newest only' : `Show all ${events.length}`}
        </Button>
      )}
    </section>
  );
}

const clock = (iso: string) => new Date(iso).toLocaleTimeString('en-GB');
