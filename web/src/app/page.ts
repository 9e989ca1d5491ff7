import type { ComponentType } from 'react';
import type { RouteObject } from 'react-router';

/** A route's page, whose code is loaded when somebody goes there: by the router, not by React.lazy, since React shows
 * what Suspense held back 300 ms after its fallback at the earliest. */
export function page(load: () => Promise<{ default: ComponentType }>): Pick<RouteObject, 'lazy'> {
  return { lazy: async () => ({ Component: (await load()).default }) };
}
