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
import { Toasts } from '../ui/Toasts';
import { makeRouter } from './router';

/** `api` asks, and `push` listens, in the name of who is signed in to `session`. */
export function App({ api, push = null, session }: { api: ApiClient; push?: Subscribe | null; session: Session }) {
  return (
    <SessionContext value={session}>
      <ApiContext value={api}>
        <PushContext value={push}>
          <Toasts>
            <Signed />
          </Toasts>
        </PushContext>
      </ApiContext>
    </SessionContext>
  );
}

/** What one person has seen is kept for nobody else: each sign-in begins with empty caches. */
function Signed() {
  const { email } = useSessionState();
  return email === null ? <SignInPage /> : <Pages key={email} />;
}

function Pages() {
  const [router] = useState(makeRouter);
  const [queries] = useState(makeQueries);
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

/** The client of the API tries again by itself, and only what does no harm. */
export function makeQueries(): QueryClient {
  return new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 5000 } } });
}
