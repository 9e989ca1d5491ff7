/** This feature's queries to the API. */
import { useQueries, useQuery } from '@tanstack/react-query';
import type { ApiClient } from '../../api/client';
import { useApi } from '../../api/context';
import { usePages } from '../../api/use_pages';
import type { Schema } from '../../api/routes';
import { type FilterOf, activeFilters } from '../../ui/list_filter';
import { JOB_STATES, parseStatus } from '../../ui/statuses';

export type Job = Schema<'JobAnswer'>;
export type Slide = Schema<'SlideAnswer'>;
export type Model = Schema<'ModelAnswer'>;

/** The filters of the list of jobs, by the API's names. Each has a control in list/JobFilters.tsx. */
export const JOB_FILTERS = {
  q: (text: string | null) => text ?? '', // in the slide's name or the job's label
  status: (text: string | null) => parseStatus(JOB_STATES, text),
  model: (text: string | null) => text, // its name
  mine: (text: string | null) => text === 'true', // only the user's own jobs
};

export type JobFilter = FilterOf<typeof JOB_FILTERS>;

const POLL_INTERVAL = 4000; // ms between two reads while a job is running
const STALE_TIME = 60_000; // ms that names and scales of slides, and models, are cached

export function useJobs(filter: JobFilter) {
  const api = useApi();
  return usePages<Job>(
    ['jobs', filter],
    (cursor, signal) =>
      api.get('/jobs', { query: { ...activeFilters(filter), cursor: cursor ?? null, limit: 30 }, signal }),
    { lookAgain: (jobs) => (jobs.some(({ status }) => JOB_STATES[status].isTransient) ? POLL_INTERVAL : false), isOneList: true },
  );
}

/** Reads all versions of all models: there are few, and a form needs them all. */
export function useModels() {
  const api = useApi();
  return useQuery({ queryKey: ['models'], queryFn: ({ signal }) => readAllModels(api, signal), staleTime: STALE_TIME });
}

async function readAllModels(api: ApiClient, signal: AbortSignal): Promise<Model[]> {
  const models: Model[] = [];
  let cursor: string | null = null;
  do {
    const page: Schema<'ModelList'> = await api.get('/models', { query: { cursor, limit: 100 }, signal });
    models.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return models;
}

const makeSlideQuery = (api: ApiClient, id: string) => ({
  queryKey: ['slide', id],
  queryFn: ({ signal }: { signal: AbortSignal }) => api.get('/slides/{slide_id}', { path: { slide_id: id }, signal }),
  staleTime: STALE_TIME,
});

export function useSlide(id: string, enabled: boolean) {
  return useQuery({ ...makeSlideQuery(useApi(), id), enabled });
}

export function useSlides(ids: readonly string[]) {
  const api = useApi();
  return useQueries({ queries: ids.map((id) => makeSlideQuery(api, id)) });
}
