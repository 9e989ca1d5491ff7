import { useState } from 'react';
import { Button } from '../../../ui/Button';
import { type JobEvent, describeEvent } from './use_events';

const SHORT_LENGTH = 8;

/** The job's events, newest first. */
export function EventLog({ events }: { events: readonly JobEvent[] }) {
  const [isWhole, setWhole] = useState(false);
  const newest = events.toReversed();
  const shown = isWhole ? newest : newest.slice(0, SHORT_LENGTH);
  return (
    <section aria-labelledby="log" className="rounded-lg border border-line bg-raised p-5 text-sm">
      <h2 id="log" className="text-base font-semibold">
        What happened
      </h2>
      <ol className="mt-3 min-h-48" reversed>
        {shown.map((event) => (
          <li key={event.seq} className="grid grid-cols-[5.5rem_1fr] gap-3 py-1">
            <time dateTime={event.at} className="text-muted tabular-nums">
              {formatClock(event.at)}
            </time>
            <span className="min-w-0 break-words">{describeEvent(event)}</span>
          </li>
        ))}
      </ol>
      {events.length > SHORT_LENGTH && (
        <Button
          look="quiet"
          className="mt-2"
          aria-expanded={isWhole}
          onClick={() => {
            setWhole(!isWhole);
          }}
        >
          {isWhole ? 'Show newest only' : `Show all ${events.length}`}
        </Button>
      )}
    </section>
  );
}

const formatClock = (iso: string) => new Date(iso).toLocaleTimeString('en-GB');
