/** The job's events: read page by page, and again from the last page when the job changes. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useApi } from '../../../api/context';
import type { Job } from '../../../api/live/job_update';
import type { Schema } from '../../../api/routes';
import { formatNumber } from '../../../ui/format';
import { JOB_STATES, type JobState } from '../../../ui/statuses';

export type JobEvent = Schema<'EventAnswer'>;

interface EventPages {
  settled: readonly JobEvent[]; // from full pages
  cursor: string | null; // start of the last page
  last: readonly JobEvent[];
}

const PAGE_SIZE = 100;
const NO_PAGES: EventPages = { settled: [], cursor: null, last: [] };
const READ_INTERVAL = 10_000; // ms between two reads while only the tile count changes; a new state is read at once

/** Reads the events, oldest first. `at`: ms since 1970 at which `job` was read. */
export function useEvents(job: Job | undefined, at: number) {
  const api = useApi();
  const queries = useQueryClient();
  const queryKey = ['job', job?.job_id, 'events'];
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      let { settled, cursor } = queries.getQueryData<EventPages>(queryKey) ?? NO_PAGES;
      for (;;) {
        const request = { path: { job_id: job?.job_id ?? '' }, query: { cursor, limit: PAGE_SIZE }, signal };
        const { items, next_cursor } = await api.get('/jobs/{job_id}/events', request);
        if (next_cursor === null) return { settled, cursor, last: items };
        settled = [...settled, ...items];
        cursor = next_cursor;
      }
    },
    enabled: false,
  });
  const version = job?.version;
  const turn = Math.floor(at / READ_INTERVAL);
  useEffect(() => {
    if (version === undefined) return undefined;
    function read(): void {
      if (document.hidden) return; // until the tab is shown
      document.removeEventListener('visibilitychange', read);
      void refetch();
    }
    document.addEventListener('visibilitychange', read);
    read();
    return () => {
      document.removeEventListener('visibilitychange', read);
    };
  }, [version, turn, refetch]);
  return { events: data && [...data.settled, ...data.last], error, again: refetch };
}

/** Count the parts that were started more than once, and the finished ones, according to the events. */
export function countParts(events: readonly JobEvent[]): { restarted: number; done: number } {
  const parts = (kind: string, counts: (event: JobEvent) => boolean = () => true) =>
    new Set(events.filter((event) => event.kind === kind && counts(event)).map(({ detail }) => detail['shard'])).size;
  return {
    restarted: parts('shard_leased', ({ detail }) => Number(detail['attempt']) > 1),
    done: parts('shard_committed'),
  };
}

const STATE_TEXTS: Partial<Record<JobState, string>> = {
  QUEUED: 'Requested',
  PLANNING: 'Planning started',
  RUNNING: 'Planned; its parts are waiting for workers',
  STITCHING: 'All parts are done; the results are being combined',
};

/** Describe an event. */
export function describeEvent({ kind, detail }: JobEvent): string {
  const part = `Part ${formatNumber(Number(detail['shard']) + 1)}`;
  const reason = typeof detail['reason'] === 'string' ? `: ${detail['reason']}` : '';
  switch (kind) {
    case 'moved': {
      const state = detail['state'] as JobState;
      return `${STATE_TEXTS[state] ?? JOB_STATES[state].label}${reason}`;
    }
    case 'shard_leased':
      return Number(detail['attempt']) > 1 ? `${part} restarted, attempt ${formatNumber(Number(detail['attempt']))}` : `${part} started`;
    case 'shard_committed': {
      const unreadable = Number(detail['unreadable']);
      const tiles = `${part} done: ${formatNumber(Number(detail['tiles']))} tiles`;
      return unreadable > 0 ? `${tiles}, ${formatNumber(unreadable)} of them unreadable` : tiles;
    }
    case 'shard_released':
      return `${part} released${reason}`;
    case 'shard_failed':
      return `${part} failed${reason}`;
    case 'dead_letter':
      return detail['outcome'] === 'resent' ? 'A message about it was lost and sent again' : 'Messages about it were lost twice';
    case 'retried':
      return 'Retried as another job';
    default:
      return kind.replaceAll('_', ' ');
  }
}
