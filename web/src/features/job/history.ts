/** The job's log: read page by page, and from its last page on when there is news. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useApi } from '../../api/context';
import type { Job } from '../../api/live/job_update';
import type { Schema } from '../../api/routes';
import { number } from '../../ui/format';
import { JOB_STATES, type JobState } from '../../ui/statuses';

export type JobEvent = Schema<'EventAnswer'>;

interface History {
  settled: readonly JobEvent[]; // of pages that are full
  cursor: string | null; // where the last page begins
  last: readonly JobEvent[];
}

const PAGE = 100;
const BEGINNING: History = { settled: [], cursor: null, last: [] };
const PAUSE = 10_000; // ms between two reads while only tiles are counted; a move is read at once

/** Oldest first. `at`: ms since 1970 of what `job` says. */
export function useHistory(job: Job | undefined, at: number) {
  const api = useApi();
  const queries = useQueryClient();
  const queryKey = ['job', job?.job_id, 'events'];
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      let { settled, cursor } = queries.getQueryData<History>(queryKey) ?? BEGINNING;
      for (;;) {
        const asked = { path: { job_id: job?.job_id ?? '' }, query: { cursor, limit: PAGE }, signal };
        const { items, next_cursor } = await api.get('/jobs/{job_id}/events', asked);
        if (next_cursor === null) return { settled, cursor, last: items };
        settled = [...settled, ...items];
        cursor = next_cursor;
      }
    },
    enabled: false,
  });
  const version = job?.version;
  const turn = Math.floor(at / PAUSE);
  useEffect(() => {
    if (version === undefined) return undefined;
    function read(): void {
      if (document.hidden) return; // until somebody looks
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

/** How many parts were begun more than once, and how many are done as far as the log says. */
export function countsOf(events: readonly JobEvent[]): { begunAgain: number; done: number } {
  const parts = (kind: string, counts: (event: JobEvent) => boolean = () => true) =>
    new Set(events.filter((event) => event.kind === kind && counts(event)).map(({ detail }) => detail['shard'])).size;
  return {
    begunAgain: parts('shard_leased', ({ detail }) => Number(detail['attempt']) > 1),
    done: parts('shard_committed'),
  };
}

const MOVES: Partial<Record<JobState, string>> = {
  QUEUED: 'Asked for',
  PLANNING: 'Planning began',
  RUNNING: 'Planned; its parts wait for workers',
  STITCHING: 'All parts are done; the results are put together',
};

/** An event in words. */
export function sentenceFor({ kind, detail }: JobEvent): string {
  const part = `Part ${number(Number(detail['shard']) + 1)}`;
  const reason = typeof detail['reason'] === 'string' ? `: ${detail['reason']}` : '';
  switch (kind) {
    case 'moved': {
      const state = detail['state'] as JobState;
      return `${MOVES[state] ?? JOB_STATES[state].label}${reason}`;
    }
    case 'shard_leased':
      return Number(detail['attempt']) > 1 ? `${part} begun again, attempt ${number(Number(detail['attempt']))}` : `${part} begun`;
    case 'shard_committed': {
      const unreadable = Number(detail['unreadable']);
      const tiles = `${part} done: ${number(Number(detail['tiles']))} tiles`;
      return unreadable > 0 ? `${tiles}, ${number(unreadable)} of them unreadable` : tiles;
    }
    case 'shard_released':
      return `${part} given back${reason}`;
    case 'shard_failed':
      return `${part} failed${reason}`;
    case 'retried':
      return 'Tried again as another job';
    default:
      return kind.replaceAll('_', ' ');
  }
}
