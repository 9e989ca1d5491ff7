/** Light or dark: the system's setting, until the user chooses. */
import { useSyncExternalStore } from 'react';

export type Theme = 'light' | 'dark';

const KEY = 'tessera.theme';
const listeners = new Set<() => void>();
const systemPrefersDark = () => window.matchMedia('(prefers-color-scheme: dark)');

function readChosenTheme(): Theme | null {
  const held = localStorage.getItem(KEY);
  return held === 'light' || held === 'dark' ? held : null;
}

/** Apply the chosen theme. Call this before the first paint, so that nothing flashes. */
export function applyTheme(): void {
  const theme = readChosenTheme();
  if (theme) document.documentElement.dataset['theme'] = theme;
}

function subscribe(listener: () => void): () => void {
  const query = systemPrefersDark();
  listeners.add(listener);
  query.addEventListener('change', listener);
  return () => {
    listeners.delete(listener);
    query.removeEventListener('change', listener);
  };
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const theme = useSyncExternalStore(subscribe, (): Theme => readChosenTheme() ?? (systemPrefersDark().matches ? 'dark' : 'light'));
  return [
    theme,
    (next) => {
      localStorage.setItem(KEY, next);
      applyTheme();
      for (const listener of listeners) listener();
    },
  ];
}
