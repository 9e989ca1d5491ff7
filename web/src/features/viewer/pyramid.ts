import { queryOptions } from '@tanstack/react-query';
import type { ApiClient } from '../../api/client';
import type { Schema } from '../../api/routes';

export type Pyramid = Schema<'Pyramid'>;

/** What there is to be seen of a slide (docs/tiles.md). Asked for again only when a tile says that it is of another version. */
export const pyramidOf = (api: ApiClient, slideId: string) =>
  queryOptions({
    queryKey: ['pyramid', slideId],
    queryFn: ({ signal }) => api.get('/slides/{slide_id}/pyramid', { path: { slide_id: slideId }, signal }),
    staleTime: Infinity,
  });
