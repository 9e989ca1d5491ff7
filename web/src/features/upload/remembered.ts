/**
 * Ids of uploads that this browser began and has not seen end, so that they can go on after a reload. Only ids: names
 * of slides can name patients, and whoever may see them asks the API.
 */
const KEY = 'tessera.uploads';

export function remembered(): string[] {
  const held: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
  return Array.isArray(held) ? held.filter((id) => typeof id === 'string') : [];
}

export function remember(id: string): void {
  localStorage.setItem(KEY, JSON.stringify([...remembered().filter((other) => other !== id), id]));
}

export function forget(id: string): void {
  const rest = remembered().filter((other) => other !== id);
  if (rest.length > 0) localStorage.setItem(KEY, JSON.stringify(rest));
  else localStorage.removeItem(KEY);
}

/** Calls back when another tab remembers or forgets one; returns what ends that. */
export function listenToOtherTabs(changed: () => void): () => void {
  const hear = ({ key }: StorageEvent) => {
    if (key === KEY || key === null) changed();
  };
  window.addEventListener('storage', hear);
  return () => {
    window.removeEventListener('storage', hear);
  };
}
