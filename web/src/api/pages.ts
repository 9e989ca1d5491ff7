import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';

/** A page of a list, as all lists of the API have it. */
export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

interface Options<Item> {
  /** ms between two looks, or false; decided on what is there. */
  lookAgain?: (items: readonly Item[]) => number | false;
  /** Another key is another view of the same list: what was shown stays until its rows are there. */
  isOneList?: boolean;
}

/** The list up to where somebody has asked for more; `key` holds all that the pages depend on. */
export function usePages<Item>(
  key: readonly unknown[],
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
  { lookAgain, isOneList = false }: Options<Item> = {},
) {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last: Page<Item>) => last.next_cursor ?? undefined,
    refetchInterval: ({ state }) => lookAgain?.(state.data?.pages.flatMap((page) => page.items) ?? []) ?? false,
    ...(isOneList ? { placeholderData: keepPreviousData } : {}),
  });
  return { ...query, items: query.data?.pages.flatMap((page) => page.items) ?? [] };
}
