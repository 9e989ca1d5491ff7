import type { Claims } from './claims';

/** Of tabs in one place: each call gives the claims of one more tab. */
export function sharedClaims(): () => Claims {
  const taken = new Set<string>();
  return () => ({
    take: (slideId) => {
      if (taken.has(slideId)) return Promise.resolve(null);
      taken.add(slideId);
      return Promise.resolve(() => taken.delete(slideId));
    },
    taken: () => Promise.resolve(new Set(taken)),
  });
}
