/** The viewer's queries to the API. */
import { useQuery } from '@tanstack/react-query';
import { useApi } from '../../../api/context';
import type { Schema } from '../../../api/routes';
import { JOB_STATES, type JobState } from '../../../ui/statuses';
import { loadObjects } from './load_objects';
import { loadFinalResults, fetchResultFile, listResultFiles } from './load_results';
import { type Pyramid, makePyramidQuery } from '../engine/pyramid';
import { drawSpecks } from '../overlays/paint_objects';
import { loadTissueOutline } from '../overlays/tissue_outline';

export type Job = Schema<'JobAnswer'>;
export type Slide = Schema<'SlideAnswer'>;

export const TISSUE = 'tissue.png';
export const OBJECTS = 'objects.geojson.gz'; // from the corner of what QuPath shows
const FULL_OBJECTS = 'objects.full.geojson.gz'; // from the corner of level 0; only of slides that QuPath crops

const WITH_RESULTS: readonly JobState[] = ['COMPLETED', 'COMPLETED_WITH_UNREADABLE_TILES'];
export const hasResults = ({ status }: Job) => WITH_RESULTS.includes(status);
export const isTransient = ({ status }: Job) => JOB_STATES[status].isTransient;

export function useSlide(slideId: string) {
  const api = useApi();
  return useQuery({
    queryKey: ['slide', slideId],
    queryFn: ({ signal }) => api.get('/slides/{slide_id}', { path: { slide_id: slideId }, signal }),
  });
}

export function usePyramid(slideId: string) {
  return useQuery({ ...makePyramidQuery(useApi(), slideId), retryOnMount: false }); // PyramidPrefetch tried a moment ago
}

/** Query the latest hundred jobs of a slide. */
export function useSlideJobs(slideId: string) {
  const api = useApi();
  return useQuery({
    queryKey: ['jobs', 'to look at', slideId], // one list here; the slide's page reads them in pages
    queryFn: async ({ signal }) => (await api.get('/jobs', { query: { slide_id: slideId, limit: 100 }, signal })).items,
  });
}

export function useFinalResults(job: Job | undefined) {
  const api = useApi();
  return useQuery({
    queryKey: ['tile results', job?.job_id],
    queryFn: ({ signal }) => loadFinalResults(api, job?.job_id ?? '', signal),
    enabled: job !== undefined && hasResults(job),
    structuralSharing: false, // it holds megabytes of scores
    staleTime: Infinity,
  });
}

/** Query the tissue outline in level-0 px; null if the job has no mask. */
export function useTissueOutline(job: Job | undefined, slide: Pyramid, isShown: boolean) {
  const api = useApi();
  return useQuery({
    queryKey: ['tissue', job?.job_id],
    queryFn: async ({ signal }) => {
      const answer = await fetchResultFile(api, job?.job_id ?? '', TISSUE, signal);
      return answer === null ? null : loadTissueOutline(await answer.blob(), slide);
    },
    enabled: isShown && job !== undefined && hasResults(job),
    structuralSharing: false,
    staleTime: Infinity,
  });
}

/** Query the objects that a model segmented, in level-0 px; null if it segments none. */
export function useFoundObjects(job: Job | undefined, slide: Pyramid, isShown: boolean) {
  const api = useApi();
  return useQuery({
    queryKey: ['objects', job?.job_id],
    queryFn: async ({ signal }) => {
      const files = await listResultFiles(api, job?.job_id ?? '', signal);
      const file = files.find(({ name }) => name === FULL_OBJECTS) ?? files.find(({ name }) => name === OBJECTS);
      if (file === undefined) return null;
      const objects = await loadObjects(file.url, signal);
      return { objects, specks: drawSpecks(objects, slide) };
    },
    enabled: isShown && job !== undefined && hasResults(job),
    structuralSharing: false,
    staleTime: Infinity,
  });
}
