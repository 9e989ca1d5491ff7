/** Light or dark: as the system says, until somebody chooses. */
import { useSyncExternalStore } from 'react';

export type Theme = 'light' | 'dark';

const KEY = 'tessera.theme';
const listeners = new Set<() => void>();
const system = () => window.matchMedia('(prefers-color-scheme: dark)');

function chosen(): Theme | null {
  const held = localStorage.getItem(KEY);
  return held === 'light' || held === 'dark' ? held : null;
}

/** Before the first paint, so that nothing flashes. */
export function applyTheme(): void {
  const theme = chosen();
  if (theme) document.documentElement.dataset['theme'] = theme;
}

function subscribe(listener: () => void): () => void {
  const query = system();
  listeners.add(listener);
  query.addEventListener('change', listener);
  return () => {
    listeners.delete(listener);
    query.removeEventListener('change', listener);
  };
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const theme = useSyncExternalStore(subscribe, (): Theme => chosen() ?? (system().matches ? 'dark' : 'light'));
  return [
    theme,
    (next) => {
      localStorage.setItem(KEY, next);
      applyTheme();
      for (const listener of listeners) listener();
    },
  ];
}
