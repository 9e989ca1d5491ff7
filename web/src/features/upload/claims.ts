/** Which tab of this browser sends which upload, so that no two send the same one. */
export interface Claims {
  /** For this tab, until the function returned is called or the tab is gone; null when another tab has it. */
  take: (slideId: string) => Promise<(() => void) | null>;
  /** Ids of all uploads that some tab has, this one too. */
  taken: () => Promise<ReadonlySet<string>>;
}

const PREFIX = 'tessera.upload.';

/** By locks of the browser (Web Locks), which end with a tab however it ends. */
export function lockingClaims(locks: LockManager = navigator.locks): Claims {
  return {
    take: (slideId) =>
      new Promise((resolve, reject) => {
        const hold = (lock: Lock | null) => {
          if (lock !== null) return new Promise<void>(resolve);
          resolve(null);
          return undefined;
        };
        locks.request(PREFIX + slideId, { ifAvailable: true }, hold).catch(reject);
      }),
    taken: async () => {
      const { held = [] } = await locks.query();
      return new Set(held.flatMap(({ name }) => (name?.startsWith(PREFIX) ? name.slice(PREFIX.length) : [])));
    },
  };
}
