/** This feature's queries to the API. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useApi } from '../../api/context';
import { usePages } from '../../api/use_pages';
import type { Schema } from '../../api/routes';
import { withFieldLabels } from '../../ui/fields/field_labels';
import type { StatedValues } from '../../ui/fields/stated_values';
import { type FilterOf, activeFilters } from '../../ui/list_filter';
import { JOB_STATES, SLIDE_STATES, parseStatus } from '../../ui/statuses';

export type Slide = Schema<'SlideAnswer'>;
export type Job = Schema<'JobAnswer'>;
export type Tier = Schema<'RestoreTier'>;

/** The filters of the list of slides, by the API's names. Each has a control in SlideFilters.tsx. */
export const SLIDE_FILTERS = {
  q: (text: string | null) => text ?? '', // in the name
  status: (text: string | null) => parseStatus(SLIDE_STATES, text),
};

export type SlideFilter = FilterOf<typeof SLIDE_FILTERS>;

const POLL_INTERVAL = 4000; // ms between two reads while a status is transient

export function useSlides(filter: SlideFilter) {
  const api = useApi();
  return usePages<Slide>(
    ['slides', filter],
    (cursor, signal) => api.get('/slides', { query: { ...activeFilters(filter), cursor: cursor ?? null, limit: 50 }, signal }),
    { lookAgain: (slides) => (slides.some(isTransient) ? POLL_INTERVAL : false), isOneList: true },
  );
}

export function useSlide(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: ['slide', id],
    queryFn: ({ signal }) => api.get('/slides/{slide_id}', { path: { slide_id: id }, signal }),
    refetchInterval: ({ state }) => (state.data && isTransient(state.data) ? POLL_INTERVAL : false),
  });
}

export function useSlideJobs(slideId: string) {
  const api = useApi();
  return usePages<Job>(
    ['jobs', { slide_id: slideId }],
    (cursor, signal) => api.get('/jobs', { query: { slide_id: slideId, cursor: cursor ?? null, limit: 10 }, signal }),
    { lookAgain: (jobs) => (jobs.some(({ status }) => JOB_STATES[status].isTransient) ? POLL_INTERVAL : false) },
  );
}

export type SlideAction = { kind: 'archive' | 'hold' | 'end_hold' | 'delete' } | { kind: 'restore'; tier: Tier };

/** Archives, restores, holds or deletes the slide, and refreshes what the page shows. */
export function useSlideAction({ slide_id }: Slide, onDone: (deed: SlideAction) => Promise<void>) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (deed: SlideAction): Promise<void> => {
      const path = { slide_id };
      if (deed.kind === 'archive') await api.post('/slides/{slide_id}/archive', { path });
      else if (deed.kind === 'restore') await api.post('/slides/{slide_id}/restore', { path, body: { tier: deed.tier } });
      else if (deed.kind === 'delete') await api.delete('/slides/{slide_id}', { path });
      else await api.put('/slides/{slide_id}/legal-hold', { path, body: { held: deed.kind === 'hold' } });
    },
    onSuccess: async (_, deed) => {
      await onDone(deed); // leave the page of a deleted slide before its query is removed: the page would read it again
      if (deed.kind === 'delete') {
        queries.removeQueries({ queryKey: ['slide', slide_id] });
        queries.removeQueries({ queryKey: ['jobs'] });
      }
      await Promise.all([
        queries.invalidateQueries({ queryKey: ['slides'] }),
        queries.invalidateQueries({ queryKey: ['slide', slide_id] }),
      ]);
    },
  });
}

/** States a scale or an image for the slide, which is inspected again, and drops the pyramid of the former image. */
export function useRestatement({ slide_id }: Slide, onDone: (slide: Slide) => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (stated: StatedValues) => api.patch('/slides/{slide_id}', { path: { slide_id }, body: stated }),
    onSuccess: (slide) => {
      onDone(slide);
      queries.removeQueries({ queryKey: ['pyramid', slide_id] });
      queries.setQueryData(['slide', slide_id], slide);
      return queries.invalidateQueries({ queryKey: ['slides'] });
    },
  });
}

/** Registers a slide from a bucket that the installation allows. */
export function useRegistration(onDone: (slide: Slide) => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (slide: Schema<'SlideToRegister'>) => api.post('/slides', { body: slide }),
    onSuccess: (slide) => {
      onDone(slide);
      return queries.invalidateQueries({ queryKey: ['slides'] });
    },
  });
}

/** Explain why the slide cannot be analysed. For archived slides the API's message names a route, so the page has its own. */
export function explainStatus({ status, sentence }: Slide): string | null {
  if (status === 'ARCHIVED') return 'This slide is archived. Restore it to view or analyse it again.';
  return sentence && withFieldLabels(sentence);
}

const isTransient = (slide: Slide) => SLIDE_STATES[slide.status].isTransient;
