import { queryOptions } from '@tanstack/react-query';
import type { ApiClient } from '../../../api/client';
import type { Schema } from '../../../api/routes';

export type Pyramid = Schema<'Pyramid'>;

/** Query the slide's levels and tiles (docs/reference/tiles.md). It is refetched only when a tile turns out to be of another version. */
export const makePyramidQuery = (api: ApiClient, slideId: string) =>
  queryOptions({
    queryKey: ['pyramid', slideId],
    queryFn: ({ signal }) => api.get('/slides/{slide_id}/pyramid', { path: { slide_id: slideId }, signal }),
    staleTime: Infinity,
  });
