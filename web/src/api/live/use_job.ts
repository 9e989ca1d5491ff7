import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { use, useEffect, useMemo, useState } from 'react';
import { useApi } from '../context';
import { PushContext } from './context';
import { type Job, isFinal, mergeSnapshot, mergeUpdate } from './job_update';
import { type Link, watchJob } from './watch';

export interface LiveJob {
  job: Job | undefined;
  error: Error | null; // of the last read; `job` is then the state before
  at: number; // ms since 1970 at which `job` was read or pushed
  link: Link;
  restart: () => void; // watches again, after an error
}

/** Watches a job while the component is mounted; null watches nothing. Call it once per job and page, since each call
 * opens a connection. */
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
          return mergeSnapshot(queries.getQueryData<Job>(['job', jobId]), snapshot);
        },
        enabled: false, // only `watchJob` decides when to read
        staleTime: 0,
      }),
    [api, queries, jobId],
  );
  const { data, error, dataUpdatedAt } = useQuery(query);

  useEffect(() => {
    if (jobId === null) return undefined;
    return watchJob({
      jobId,
      read: async () => isFinal(await queries.query(query)),
      subscribe,
      onUpdate: (update) => {
        queries.setQueryData(query.queryKey, (known) => known && mergeUpdate(known, update));
      },
      onLink: setLink,
    });
  }, [queries, query, subscribe, jobId, round]);

  return {
    job: data,
    error,
    at: dataUpdatedAt,
    link,
    restart: () => {
      setRound(round + 1);
    },
  };
}
