import type { ReactNode } from 'react';
import { Outlet, ScrollRestoration } from 'react-router';
import { useMe } from '../session/roles';
import { Problem } from '../ui/messages/Problem';
import { FEATURES } from './feature';
import { Header } from './Header';

/** The frame of every page: header, skip link, and the features' providers. */
export function Shell() {
  const me = useMe();
  return (
    <FeatureProviders>
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
    </FeatureProviders>
  );
}

function FeatureProviders({ children }: { children: ReactNode }) {
  return FEATURES.reduceRight((within, { provider: Outer }) => (Outer ? <Outer>{within}</Outer> : within), children);
}
