/** The panes in the address: `?job=…&job=…&beside=slide`. */
import { useCallback, useMemo } from 'react';
import { useNavigate, useSearchParams } from 'react-router';

/** For each pane a job's id, or null for the slide alone. */
export type Panes = readonly [first: string | null] | readonly [first: string | null, second: string | null];

const NO_RESULT = 'slide';

export function parsePanes(search: URLSearchParams): Panes {
  const [first = null, second = null] = search.getAll('job').filter((id) => id !== '');
  return second !== null || search.get('beside') === NO_RESULT ? [first, second] : [first];
}

export function formatPanes(panes: Panes): string {
  const search = new URLSearchParams(panes.flatMap((id) => (id === null ? [] : [['job', id]])));
  if (panes.length === 2 && panes[1] === null) search.set('beside', NO_RESULT);
  return search.toString();
}

export function usePanes(): [Panes, (panes: Panes) => void] {
  const [search] = useSearchParams();
  const navigate = useNavigate();
  const panes = useMemo(() => parsePanes(search), [search]);
  const setPanes = useCallback(
    (next: Panes) => {
      // The hash holds the viewport, which the router has not followed.
      void navigate({ search: formatPanes(next), hash: window.location.hash }, { replace: true, preventScrollReset: true });
    },
    [navigate],
  );
  return [panes, setPanes];
}
