import { type ReactNode, useEffect } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { useMatch } from 'react-router';
import { useApi } from '../../api/context';
import { makePyramidQuery } from './engine/pyramid';

/** Fetches a slide's pyramid while the viewer's code is loading. */
export function PyramidPrefetch({ children }: { children: ReactNode }) {
  const api = useApi();
  const queries = useQueryClient();
  const slideId = useMatch('/view/:slideId')?.params.slideId;
  useEffect(() => {
    if (slideId !== undefined) queries.query(makePyramidQuery(api, slideId)).catch(() => undefined); // the page fetches it again, and shows the error
  }, [api, queries, slideId]);
  return children;
}
