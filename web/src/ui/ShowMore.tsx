import { Button } from './Button';

interface Pages {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => unknown;
}

/** Below a list with a cursor, while it goes on. */
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
