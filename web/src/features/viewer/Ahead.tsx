import { type ReactNode, useEffect } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { useMatch } from 'react-router';
import { useApi } from '../../api/context';
import { pyramidOf } from './pyramid';

/** Asks what there is of a slide while the code that shows it is on its way. */
export function Ahead({ children }: { children: ReactNode }) {
  const api = useApi();
  const queries = useQueryClient();
  const slideId = useMatch('/view/:slideId')?.params.slideId;
  useEffect(() => {
    if (slideId !== undefined) queries.query(pyramidOf(api, slideId)).catch(() => undefined); // the page asks again, and tells of it
  }, [api, queries, slideId]);
  return children;
}
