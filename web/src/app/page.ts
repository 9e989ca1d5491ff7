import type { ComponentType } from 'react';
import type { RouteObject } from 'react-router';

/** Load a page's code when the user goes to its route. The router loads it, not React.lazy: after Suspense's fallback,
 * React waits at least 300 ms before it shows the content. */
export function lazyPage(load: () => Promise<{ default: ComponentType }>): Pick<RouteObject, 'lazy'> {
  return { lazy: async () => ({ Component: (await load()).default }) };
}
