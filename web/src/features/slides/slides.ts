/** What this feature asks the API for. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useApi } from '../../api/context';
import { usePages } from '../../api/pages';
import type { Schema } from '../../api/routes';
import { inWordsOfThePage } from '../../ui/fields';
import type { Stated } from '../../ui/stated';
import { JOB_STATES, SLIDE_STATES, type SlideState } from '../../ui/statuses';

export type Slide = Schema<'SlideAnswer'>;
export type Job = Schema<'JobAnswer'>;
export type Tier = Schema<'RestoreTier'>;

export interface SlideFilter {
  q: string;
  status: SlideState | null;
}

const SOON = 4000; // ms between two looks while something moves by itself

export function useSlides(filter: SlideFilter) {
  const api = useApi();
  return usePages<Slide>(
    ['slides', filter],
    (cursor, signal) => api.get('/slides', { query: { ...filter, cursor: cursor ?? null, limit: 50 }, signal }),
    { lookAgain: (slides) => (slides.some(isMoving) ? SOON : false), isOneList: true },
  );
}

export function useSlide(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: ['slide', id],
    queryFn: ({ signal }) => api.get('/slides/{slide_id}', { path: { slide_id: id }, signal }),
    refetchInterval: ({ state }) => (state.data && isMoving(state.data) ? SOON : false),
  });
}

export function useJobsOf(slideId: string) {
  const api = useApi();
  return usePages<Job>(
    ['jobs', { slide_id: slideId }],
    (cursor, signal) => api.get('/jobs', { query: { slide_id: slideId, cursor: cursor ?? null, limit: 10 }, signal }),
    { lookAgain: (jobs) => (jobs.some(({ status }) => JOB_STATES[status].isPassing) ? SOON : false) },
  );
}

export type Deed = { kind: 'archive' } | { kind: 'restore'; tier: Tier } | { kind: 'delete' };

/** Archives, restores or deletes the slide; what is shown of it is read anew. */
export function useDeed({ slide_id }: Slide, onDone: (deed: Deed) => Promise<void>) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (deed: Deed): Promise<void> => {
      const path = { slide_id };
      if (deed.kind === 'archive') await api.post('/slides/{slide_id}/archive', { path });
      else if (deed.kind === 'restore') await api.post('/slides/{slide_id}/restore', { path, body: { tier: deed.tier } });
      else await api.delete('/slides/{slide_id}', { path });
    },
    onSuccess: async (_, deed) => {
      await onDone(deed); // the page of a deleted slide is left before anything of it is forgotten, or it would ask anew
      if (deed.kind === 'delete') queries.removeQueries({ queryKey: ['slide', slide_id] });
      await Promise.all([
        queries.invalidateQueries({ queryKey: ['slides'] }),
        queries.invalidateQueries({ queryKey: ['slide', slide_id] }),
      ]);
    },
  });
}

/** States a scale or an image for the slide, which is inspected again; what was loaded of the image before is forgotten. */
export function useRestatement({ slide_id }: Slide, onDone: (slide: Slide) => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ mpp, opticalPath, focalPlane, picture }: Stated) =>
      api.patch('/slides/{slide_id}', {
        path: { slide_id },
        body: { mpp, optical_path: opticalPath, focal_plane: focalPlane, picture },
      }),
    onSuccess: (slide) => {
      onDone(slide);
      queries.removeQueries({ queryKey: ['pyramid', slide_id] });
      queries.setQueryData(['slide', slide_id], slide);
      return queries.invalidateQueries({ queryKey: ['slides'] });
    },
  });
}

/** Registers what lies in a bucket that the installation allows. */
export function useRegistration(onDone: (slide: Slide) => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (asked: { s3_uri: string; mpp: number | null }) => api.post('/slides', { body: asked }),
    onSuccess: (slide) => {
      onDone(slide);
      return queries.invalidateQueries({ queryKey: ['slides'] });
    },
  });
}

/** Why nothing can be analysed, in words for the page: the API's on an archived slide name a route. */
export function sentenceOn({ status, sentence }: Slide): string | null {
  if (status === 'ARCHIVED') return 'It lies in the archive. Restore it to look at it or to analyse it again.';
  return sentence && inWordsOfThePage(sentence);
}

const isMoving = (slide: Slide) => SLIDE_STATES[slide.status].isPassing;
