/** Locks that keep two tabs of this browser from sending the same upload. */
export interface TabLocks {
  /** Lock an upload for this tab, until the returned function is called or the tab is closed; null if another tab has it. */
  acquire: (slideId: string) => Promise<(() => void) | null>;
  /** Return the ids of the uploads that any tab has locked, including this one. */
  lockedIds: () => Promise<ReadonlySet<string>>;
}

const PREFIX = 'tessera.upload.';

/** Lock with the browser's Web Locks, which are released however a tab ends. */
export function makeTabLocks(locks: LockManager = navigator.locks): TabLocks {
  return {
    acquire: (slideId) =>
      new Promise((resolve, reject) => {
        const hold = (lock: Lock | null) => {
          if (lock !== null) return new Promise<void>(resolve);
          resolve(null);
          return undefined;
        };
        locks.request(PREFIX + slideId, { ifAvailable: true }, hold).catch(reject);
      }),
    lockedIds: async () => {
      const { held = [] } = await locks.query();
      return new Set(held.flatMap(({ name }) => (name?.startsWith(PREFIX) ? name.slice(PREFIX.length) : [])));
    },
  };
}
