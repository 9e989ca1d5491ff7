/** What this feature asks the API for. */
import { useQuery } from '@tanstack/react-query';
import { useApi } from '../../api/context';
import { usePages } from '../../api/pages';
import type { Schema } from '../../api/routes';
import { SLIDE_STATES, type SlideState } from '../../ui/statuses';

export type Slide = Schema<'SlideAnswer'>;

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
    { lookAgain: (slides) => (slides.some(isMoving) ? SOON : false) },
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

const isMoving = (slide: Slide) => SLIDE_STATES[slide.status].isPassing;
