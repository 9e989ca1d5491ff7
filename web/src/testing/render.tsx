import { QueryClientProvider } from '@tanstack/react-query';
import { type RenderResult, render } from '@testing-library/react';
import { RouterProvider, createMemoryRouter } from 'react-router';
import { ApiContext } from '../api/context';
import { PushContext } from '../api/live/context';
import type { Subscribe } from '../api/live/push';
import { makeQueryClient } from '../app/App';
import { ROUTES } from '../app/router';
import { SessionContext } from '../session/context';
import type { Session } from '../session/session';
import { Toasts } from '../ui/messages/Toasts';
import { type FakeApi, makeSession } from './fakes';

/** Render the whole page at `path`, for a signed-in user, on a fake API; without `push`, nothing is pushed. */
export function renderPage(
  path: string,
  api: FakeApi,
  session: Session = makeSession(),
  push: Subscribe | null = null,
): RenderResult {
  return render(
    <SessionContext value={session}>
      <ApiContext value={api.client(session)}>
        <PushContext value={push}>
          <Toasts>
            <QueryClientProvider client={makeQueryClient()}>
              <RouterProvider router={createMemoryRouter(ROUTES, { initialEntries: [path] })} />
            </QueryClientProvider>
          </Toasts>
        </PushContext>
      </ApiContext>
    </SessionContext>,
  );
}
