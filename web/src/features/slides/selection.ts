/** The slides that the user selected for analysis. They stay selected while the user searches the list. */
import type { Slide } from './queries';

export type Selection = ReadonlySet<string>; // of slide ids

export const MOST_SLIDES = 50; // per submission: each is estimated, and the address contains all of them

export const canBeChosen = ({ status }: Slide) => status === 'READY';

export function toggleSlide(chosen: Selection, id: string): Selection {
  const next = new Set(chosen);
  if (!next.delete(id) && next.size < MOST_SLIDES) next.add(id);
  return next;
}

/** Add all `slides` that can be analysed, up to the limit. */
export function addAll(chosen: Selection, slides: readonly Slide[]): Selection {
  const ids = slides.filter(canBeChosen).map(({ slide_id }) => slide_id);
  return new Set([...chosen, ...ids].slice(0, Math.max(MOST_SLIDES, chosen.size)));
}

export function makeNewJobAddress(ids: Iterable<string>): string {
  return `/jobs/new?${new URLSearchParams([...ids].map((id) => ['slide', id])).toString()}`;
}
