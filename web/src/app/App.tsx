import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { RouterProvider } from 'react-router';
import type { ApiClient } from '../api/client';
import { ApiContext } from '../api/context';
import { PushContext } from '../api/live/context';
import type { Subscribe } from '../api/live/push';
import type { Session } from '../session/session';
import { SessionContext, useSessionState } from '../session/context';
import { SignInPage } from '../session/SignInPage';
import { Toasts } from '../ui/messages/Toasts';
import { makeRouter } from './router';

/** The whole page. `api` and `push` act for the user who is signed in to `session`. */
export function App({ api, push = null, session }: { api: ApiClient; push?: Subscribe | null; session: Session }) {
  return (
    <SessionContext value={session}>
      <ApiContext value={api}>
        <PushContext value={push}>
          <Toasts>
            <PagesOrSignIn />
          </Toasts>
        </PushContext>
      </ApiContext>
    </SessionContext>
  );
}

/** Show the pages, or the sign-in page. Each sign-in starts with empty caches, so that no user sees another one's data. */
function PagesOrSignIn() {
  const { email } = useSessionState();
  return email === null ? <SignInPage /> : <Pages key={email} />;
}

function Pages() {
  const [router] = useState(makeRouter);
  const [queries] = useState(makeQueryClient);
  useEffect(
    () => () => {
      router.dispose();
      queries.clear();
    },
    [router, queries],
  );
  return (
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  );
}

/** Queries do not retry: ApiClient itself retries what is safe to repeat. */
export function makeQueryClient(): QueryClient {
  return new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 5000 } } });
}
