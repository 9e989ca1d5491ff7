import { useCallback, useEffect, useMemo, useRef } from 'react';
import { NavigationType, useLocation, useNavigationType, useSearchParams } from 'react-router';

interface PendingState<State> {
  state: State;
  text: string; // the address that it leads to
}

/**
 * Keeps state in the address after "?", so that it can be shared and survives going back. `read` and `write` must stay
 * the same functions. A change builds on the previous one even if that is not rendered yet: a slow machine renders later
 * than the user chooses.
 */
export function useSearchState<State extends object>(
  read: (search: URLSearchParams) => State,
  write: (state: State) => Record<string, string>,
): [State, (changes: Partial<State>) => void] {
  const [search, setSearch] = useSearchParams();
  const { key } = useLocation();
  const navigation = useNavigationType();
  const text = search.toString();
  const state = useMemo(() => read(new URLSearchParams(text)), [read, text]);
  const pending = useRef<PendingState<State> | null>(null); // not yet in the address
  useEffect(() => {
    if (navigation !== NavigationType.Replace || pending.current?.text === text) pending.current = null; // the user went elsewhere, or the change has arrived
  }, [key, navigation, text]);
  const change = useCallback(
    (changes: Partial<State>) => {
      const next = { ...(pending.current?.state ?? state), ...changes };
      const params = new URLSearchParams(write(next));
      pending.current = { state: next, text: params.toString() };
      setSearch(params, { replace: true });
    },
    [setSearch, state, write],
  );
  return [state, change];
}
