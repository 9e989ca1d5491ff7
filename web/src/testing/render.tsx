import { QueryClientProvider } from '@tanstack/react-query';
import { type RenderResult, render } from '@testing-library/react';
import { RouterProvider, createMemoryRouter } from 'react-router';
import { ApiContext } from '../api/context';
import { PushContext } from '../api/live/context';
import type { Subscribe } from '../api/live/push';
import { makeQueries } from '../app/App';
import { ROUTES } from '../app/router';
import { SessionContext } from '../session/context';
import type { Session } from '../session/session';
import { Toasts } from '../ui/Toasts';
import { type FakeApi, signedIn } from './fakes';

/** The whole page at `path`, for somebody who is signed in, on a fake API; without `push` nothing is pushed. */
export function renderPage(
  path: string,
  api: FakeApi,
  session: Session = signedIn(),
  push: Subscribe | null = null,
): RenderResult {
  return render(
    <SessionContext value={session}>
      <ApiContext value={api.client(session)}>
        <PushContext value={push}>
          <Toasts>
            <QueryClientProvider client={makeQueries()}>
              <RouterProvider router={createMemoryRouter(ROUTES, { initialEntries: [path] })} />
            </QueryClientProvider>
          </Toasts>
        </PushContext>
      </ApiContext>
    </SessionContext>,
  );
}
