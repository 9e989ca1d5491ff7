import type { TabLocks } from '../transfer/tab_locks';

/** Return a function that gives each new tab its locks; all tabs share one set. */
export function shareTabLocks(): () => TabLocks {
  const locked = new Set<string>();
  return () => ({
    acquire: (slideId) => {
      if (locked.has(slideId)) return Promise.resolve(null);
      locked.add(slideId);
      return Promise.resolve(() => locked.delete(slideId));
    },
    lockedIds: () => Promise.resolve(new Set(locked)),
  });
}
