import { useCallback, useEffect, useMemo, useRef } from 'react';
import { NavigationType, useLocation, useNavigationType, useSearchParams } from 'react-router';

interface Asked<State> {
  state: State;
  text: string; // as the address will say it
}

/**
 * What the address says behind its "?", so that it can be sent to a colleague and survives the way back. `read` and
 * `write` must stay the same functions. A change builds on the one before it even when that is not drawn yet: a slow
 * machine draws later than somebody chooses.
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
  const asked = useRef<Asked<State> | null>(null); // and not arrived yet
  useEffect(() => {
    if (navigation !== NavigationType.Replace || asked.current?.text === text) asked.current = null; // somebody went elsewhere, or it is here
  }, [key, navigation, text]);
  const change = useCallback(
    (changes: Partial<State>) => {
      const next = { ...(asked.current?.state ?? state), ...changes };
      const told = new URLSearchParams(write(next));
      asked.current = { state: next, text: told.toString() };
      setSearch(told, { replace: true });
    },
    [setSearch, state, write],
  );
  return [state, change];
}
