import type { ReactNode } from 'react';
import { Outlet, ScrollRestoration } from 'react-router';
import { useMe } from '../session/roles';
import { Problem } from '../ui/Problem';
import { FEATURES } from './feature';
import { Header } from './Header';

/** What surrounds every page. */
export function Shell() {
  const me = useMe();
  return (
    <Around>
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:rounded-md focus:bg-raised focus:px-4 focus:py-2"
      >
        Skip to the content
      </a>
      <Header />
      <main id="main" tabIndex={-1} className="mx-auto max-w-7xl px-4 py-6">
        {me.isError ? (
          <Problem error={me.error} onRetry={() => void me.refetch()} />
        ) : (
          <Outlet />
        )}
      </main>
      <ScrollRestoration />
    </Around>
  );
}

function Around({ children }: { children: ReactNode }) {
  return FEATURES.reduceRight((within, { around: Outer }) => (Outer ? <Outer>{within}</Outer> : within), children);
}
