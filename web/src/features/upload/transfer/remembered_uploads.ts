/**
 * Stores the ids of unfinished uploads of this browser, so that they can continue after a reload. Only ids: a slide's
 * name can contain a patient's name, and users who may see it get it from the API.
 */
const KEY = 'tessera.uploads';

export function readRemembered(): string[] {
  const held: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
  return Array.isArray(held) ? held.filter((id) => typeof id === 'string') : [];
}

export function remember(id: string): void {
  localStorage.setItem(KEY, JSON.stringify([...readRemembered().filter((other) => other !== id), id]));
}

export function forget(id: string): void {
  const rest = readRemembered().filter((other) => other !== id);
  if (rest.length > 0) localStorage.setItem(KEY, JSON.stringify(rest));
  else localStorage.removeItem(KEY);
}

/** Call `changed` when another tab remembers or forgets an upload. Return a function that stops listening. */
export function listenToOtherTabs(changed: () => void): () => void {
  const hear = ({ key }: StorageEvent) => {
    if (key === KEY || key === null) changed();
  };
  window.addEventListener('storage', hear);
  return () => {
    window.removeEventListener('storage', hear);
  };
}
