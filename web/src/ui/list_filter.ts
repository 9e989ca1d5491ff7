/** Filters of a list, which are kept in the address and sent to the API under the same names. */

/** For each filter, how its text in the address is parsed; a value that is empty, false or null filters nothing. */
type Parsers = Record<string, (text: string | null) => string | boolean | null>;

export type FilterOf<P extends Parsers> = { [Name in keyof P]: ReturnType<P[Name]> };
type Active<Filter> = { [Name in keyof Filter]?: Exclude<Filter[Name], null | false> };

export function parseFilter<P extends Parsers>(parsers: P, search: URLSearchParams): FilterOf<P> {
  return Object.fromEntries(Object.entries(parsers).map(([name, parse]) => [name, parse(search.get(name))])) as FilterOf<P>;
}

/** Keep only what filters something. */
export function activeFilters<Filter extends object>(filter: Filter): Active<Filter> {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => Boolean(value))) as Active<Filter>;
}

export function formatFilter(filter: object): Record<string, string> {
  return Object.fromEntries(Object.entries(activeFilters(filter)).map(([name, value]) => [name, String(value)]));
}

export const isFiltered = (filter: object) => Object.values(filter).some(Boolean);
