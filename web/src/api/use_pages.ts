import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';

/** One page of a list, in the form of all lists of the API. */
export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

interface Options<Item> {
  /** Returns the ms until the list is read again, or false, for the items that are loaded. */
  lookAgain?: (items: readonly Item[]) => number | false;
  /** All keys are views of one list: the previous rows stay until the new ones are there. */
  isOneList?: boolean;
}

/** Reads a list page by page, as far as the user has requested; `key` holds everything that the pages depend on. */
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
