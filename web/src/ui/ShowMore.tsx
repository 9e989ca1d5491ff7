import { Button } from './Button';

interface Pages {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => unknown;
}

/** Loads the next page of a list, if there is one. */
export function ShowMore({ pages }: { pages: Pages }) {
  if (!pages.hasNextPage) return null;
  return (
    <div className="mt-4 flex justify-center">
      <Button
        busy={pages.isFetchingNextPage}
        onClick={() => {
          pages.fetchNextPage();
        }}
      >
        Show more
      </Button>
    </div>
  );
}
