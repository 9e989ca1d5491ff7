/** What the viewer asks the API for. */
import { useQuery } from '@tanstack/react-query';
import { useApi } from '../../api/context';
import type { Schema } from '../../api/routes';
import { JOB_STATES, type JobState } from '../../ui/statuses';
import { loadObjects } from './load_objects';
import { finalOutcome, resultFile, resultFiles } from './outcome';
import { type Pyramid, pyramidOf } from './pyramid';
import { speckPicture } from './paint_objects';
import { tissueOutline } from './tissue';

export type Job = Schema<'JobAnswer'>;
export type Slide = Schema<'SlideAnswer'>;

export const TISSUE = 'tissue.png';
export const OBJECTS = 'objects.geojson.gz';

const WITH_RESULTS: readonly JobState[] = ['COMPLETED', 'COMPLETED_WITH_UNREADABLE_TILES'];
export const hasResults = ({ status }: Job) => WITH_RESULTS.includes(status);
export const isPassing = ({ status }: Job) => JOB_STATES[status].isPassing;

export function useSlide(slideId: string) {
  const api = useApi();
  return useQuery({
    queryKey: ['slide', slideId],
    queryFn: ({ signal }) => api.get('/slides/{slide_id}', { path: { slide_id: slideId }, signal }),
  });
}

export function usePyramid(slideId: string) {
  return useQuery({ ...pyramidOf(useApi(), slideId), retryOnMount: false }); // `Ahead` has asked a moment ago
}

/** The latest hundred of a slide. */
export function useJobsOf(slideId: string) {
  const api = useApi();
  return useQuery({
    queryKey: ['jobs', 'to look at', slideId], // in one piece, where the slide's page reads them by pages
    queryFn: async ({ signal }) => (await api.get('/jobs', { query: { slide_id: slideId, limit: 100 }, signal })).items,
  });
}

export function useFinalOutcome(job: Job | undefined) {
  const api = useApi();
  return useQuery({
    queryKey: ['outcome', job?.job_id],
    queryFn: ({ signal }) => finalOutcome(api, job?.job_id ?? '', signal),
    enabled: job !== undefined && hasResults(job),
    structuralSharing: false, // it holds megabytes of scores
    staleTime: Infinity,
  });
}

/** In level-0 px; null where the job has no mask. */
export function useTissue(job: Job | undefined, slide: Pyramid, isShown: boolean) {
  const api = useApi();
  return useQuery({
    queryKey: ['tissue', job?.job_id],
    queryFn: async ({ signal }) => {
      const answer = await resultFile(api, job?.job_id ?? '', TISSUE, signal);
      return answer === null ? null : tissueOutline(await answer.blob(), slide);
    },
    enabled: isShown && job !== undefined && hasResults(job),
    structuralSharing: false,
    staleTime: Infinity,
  });
}

/** Of what a model segmented, in level-0 px; null where it segments nothing. */
export function useObjects(job: Job | undefined, slide: Pyramid, isShown: boolean) {
  const api = useApi();
  return useQuery({
    queryKey: ['objects', job?.job_id],
    queryFn: async ({ signal }) => {
      const file = (await resultFiles(api, job?.job_id ?? '', signal)).find(({ name }) => name === OBJECTS);
      if (file === undefined) return null;
      const objects = await loadObjects(file.url, signal);
      return { objects, specks: speckPicture(objects, slide) };
    },
    enabled: isShown && job !== undefined && hasResults(job),
    structuralSharing: false,
    staleTime: Infinity,
  });
}
