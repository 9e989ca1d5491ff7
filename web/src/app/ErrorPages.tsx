import { isRouteErrorResponse, useRouteError } from 'react-router';
import { sentenceOf } from '../api/problem';
import { Button, ButtonLink } from '../ui/Button';
import { EmptyState } from '../ui/EmptyState';
import { Page } from '../ui/Page';

export function NotFound() {
  return (
    <Page title="There is nothing here">
      <EmptyState title="This address leads nowhere" action={<ButtonLink to="/slides">Go to the slides</ButtonLink>}>
        It may have been mistyped, or what was here has been deleted.
      </EmptyState>
    </Page>
  );
}

/** In place of a page that could not be shown; the header stays. */
export function BrokenPage() {
  const error = useRouteError();
  if (isRouteErrorResponse(error) && error.status === 404) return <NotFound />;
  return (
    <Page title="This page could not be shown">
      <EmptyState
        title="Something went wrong in the page itself"
        action={
          <Button
            onClick={() => {
              window.location.reload();
            }}
          >
            Reload
          </Button>
        }
      >
        Slides and jobs are safe: they go on without the page. {sentenceOf(error)}
      </EmptyState>
    </Page>
  );
}

/** When the page can not even begin. */
export function Fatal({ error }: { error: unknown }) {
  return (
    <main className="mx-auto max-w-lg px-4 py-24">
      <h1 className="text-xl font-semibold">Tessera can not start</h1>
      <p role="alert" className="mt-3">
        {sentenceOf(error)}
      </p>
    </main>
  );
}
