import { isRouteErrorResponse, useRouteError } from 'react-router';
import { messageOf } from '../api/problem';
import { Button, ButtonLink } from '../ui/Button';
import { EmptyState } from '../ui/messages/EmptyState';
import { Page } from '../ui/Page';

export function NotFound() {
  return (
    <Page title="Page not found">
      <EmptyState title="This address leads nowhere" action={<ButtonLink to="/slides">Go to the slides</ButtonLink>}>
        It may be mistyped, or the page may have been deleted.
      </EmptyState>
    </Page>
  );
}

/** Replaces a page that could not be shown; the header stays. */
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
        Slides and jobs are safe: they continue without the page. {messageOf(error)}
      </EmptyState>
    </Page>
  );
}

/** Shown if the page cannot start at all. */
export function StartupError({ error }: { error: unknown }) {
  return (
    <main className="mx-auto max-w-lg px-4 py-24">
      <h1 className="text-xl font-semibold">Tessera cannot start</h1>
      <p role="alert" className="mt-3">
        {messageOf(error)}
      </p>
    </main>
  );
}
