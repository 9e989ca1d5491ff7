/** What this feature asks the API for. */
import { useQueries, useQuery } from '@tanstack/react-query';
import type { ApiClient } from '../../api/client';
import { useApi } from '../../api/context';
import { usePages } from '../../api/pages';
import type { Schema } from '../../api/routes';
import { JOB_STATES, type JobState } from '../../ui/statuses';

export type Job = Schema<'JobAnswer'>;
export type Slide = Schema<'SlideAnswer'>;
export type Model = Schema<'ModelAnswer'>;

export interface JobFilter {
  q: string; // in the slide's name or the job's label
  status: JobState | null;
  model: string | null; // its name
  mine: boolean; // only those of whoever looks
}

const SOON = 4000; // ms between two looks while a job goes on
const A_WHILE = 60_000; // ms in which a slide's name and scale do not change

export function useJobs(filter: JobFilter) {
  const api = useApi();
  const { mine, ...wanted } = filter;
  return usePages<Job>(
    ['jobs', filter],
    (cursor, signal) =>
      api.get('/jobs', { query: { ...wanted, ...(mine ? { mine } : {}), cursor: cursor ?? null, limit: 30 }, signal }),
    { lookAgain: (jobs) => (jobs.some(({ status }) => JOB_STATES[status].isPassing) ? SOON : false), isOneList: true },
  );
}

/** All versions of all models: there are few, and a form needs them all. */
export function useModels() {
  const api = useApi();
  return useQuery({ queryKey: ['models'], queryFn: ({ signal }) => allModels(api, signal), staleTime: A_WHILE });
}

async function allModels(api: ApiClient, signal: AbortSignal): Promise<Model[]> {
  const models: Model[] = [];
  let cursor: string | null = null;
  do {
    const page: Schema<'ModelList'> = await api.get('/models', { query: { cursor, limit: 100 }, signal });
    models.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return models;
}

const slideQuery = (api: ApiClient, id: string) => ({
  queryKey: ['slide', id],
  queryFn: ({ signal }: { signal: AbortSignal }) => api.get('/slides/{slide_id}', { path: { slide_id: id }, signal }),
  staleTime: A_WHILE,
});

export function useSlideOf(id: string, enabled: boolean) {
  return useQuery({ ...slideQuery(useApi(), id), enabled });
}

export function useSlidesOf(ids: readonly string[]) {
  const api = useApi();
  return useQueries({ queries: ids.map((id) => slideQuery(api, id)) });
}
