/** The slides that somebody chose to be analysed together; they stay chosen while the list is searched. */
import type { Slide } from './slides';

export type Selection = ReadonlySet<string>; // of slide ids

export const MOST = 50; // in one submission: each is estimated as it is typed, and the address holds them all

export const canBeChosen = ({ status }: Slide) => status === 'READY';

export function toggled(chosen: Selection, id: string): Selection {
  const next = new Set(chosen);
  if (!next.delete(id) && next.size < MOST) next.add(id);
  return next;
}

/** With all of `slides` that can be analysed, as far as there is room. */
export function withAll(chosen: Selection, slides: readonly Slide[]): Selection {
  const ids = slides.filter(canBeChosen).map(({ slide_id }) => slide_id);
  return new Set([...chosen, ...ids].slice(0, Math.max(MOST, chosen.size)));
}

export function newJobAddress(ids: Iterable<string>): string {
  return `/jobs/new?${new URLSearchParams([...ids].map((id) => ['slide', id])).toString()}`;
}
