import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { use, useEffect, useMemo, useState } from 'react';
import { useApi } from '../context';
import { PushContext } from './context';
import { type Job, isFinal, withSnapshot, withUpdate } from './job_update';
import { type Link, watch } from './watch';

export interface LiveJob {
  job: Job | undefined;
  error: Error | null; // of the last read; `job` is what was known before
  at: number; // ms since 1970 of what `job` says
  link: Link;
  again: () => void; // watches anew, after a refusal
}

/** A job as it is now, for as long as the component is there; null watches nothing. Once a job and page: each call has a
 * connection. */
export function useJob(jobId: string | null): LiveJob {
  const api = useApi();
  const queries = useQueryClient();
  const subscribe = use(PushContext);
  const [link, setLink] = useState<Link>('connecting');
  const [round, setRound] = useState(0);
  const query = useMemo(
    () =>
      queryOptions({
        queryKey: ['job', jobId],
        queryFn: async ({ signal }) => {
          const snapshot = await api.get('/jobs/{job_id}', { path: { job_id: jobId ?? '' }, signal });
          return withSnapshot(queries.getQueryData<Job>(['job', jobId]), snapshot);
        },
        enabled: false, // by itself: it is asked when the watch says so
        staleTime: 0,
      }),
    [api, queries, jobId],
  );
  const { data, error, dataUpdatedAt } = useQuery(query);

  useEffect(() => {
    if (jobId === null) return undefined;
    return watch({
      jobId,
      read: async () => isFinal(await queries.query(query)),
      subscribe,
      onUpdate: (update) => {
        queries.setQueryData(query.queryKey, (known) => known && withUpdate(known, update));
      },
      onLink: setLink,
    });
  }, [queries, query, subscribe, jobId, round]);

  return {
    job: data,
    error,
    at: dataUpdatedAt,
    link,
    again: () => {
      setRound(round + 1);
    },
  };
}
