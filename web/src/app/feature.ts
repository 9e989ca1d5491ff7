import type { ComponentType, ReactNode } from 'react';
import type { RouteObject } from 'react-router';
import type { Role } from '../session/roles';

/** What a folder of features/ adds to the page: its `routes.tsx` exports one as `feature`. */
export interface Feature {
  routes: RouteObject[]; // below the shell, without a leading slash
  /** A place in the header, in the order of `order`; offered from this role on. */
  navigation?: { label: string; to: string; order: number; role: Role };
  /** Around header and pages, for what goes on while somebody walks from page to page. */
  around?: ComponentType<{ children: ReactNode }>;
  /** In the header: how that is going. */
  status?: ComponentType;
}

/** Found by their place, so that adding a feature changes no file of another. */
const found = import.meta.glob<Feature>('../features/*/routes.tsx', { eager: true, import: 'feature' });

export const FEATURES: readonly Feature[] = Object.values(found);
