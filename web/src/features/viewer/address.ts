/** `?job=…&job=…&beside=slide`: whose results are shown, and what stands beside them. */
import { useCallback, useMemo } from 'react';
import { useNavigate, useSearchParams } from 'react-router';

/** Of a pane: a job's id, or null for the slide alone. */
export type Panes = readonly [first: string | null] | readonly [first: string | null, second: string | null];

const SLIDE = 'slide';

export function panesIn(search: URLSearchParams): Panes {
  const [first = null, second = null] = search.getAll('job').filter((id) => id !== '');
  return second !== null || search.get('beside') === SLIDE ? [first, second] : [first];
}

export function searchOf(panes: Panes): string {
  const search = new URLSearchParams(panes.flatMap((id) => (id === null ? [] : [['job', id]])));
  if (panes.length === 2 && panes[1] === null) search.set('beside', SLIDE);
  return search.toString();
}

export function usePanes(): [Panes, (panes: Panes) => void] {
  const [search] = useSearchParams();
  const navigate = useNavigate();
  const panes = useMemo(() => panesIn(search), [search]);
  const setPanes = useCallback(
    (next: Panes) => {
      // The hash is where one looks, which the router has not followed.
      void navigate({ search: searchOf(next), hash: window.location.hash }, { replace: true, preventScrollReset: true });
    },
    [navigate],
  );
  return [panes, setPanes];
}
