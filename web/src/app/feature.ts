import type { ComponentType, ReactNode } from 'react';
import type { RouteObject } from 'react-router';
import type { Role } from '../session/roles';

/** One feature of the page: the `routes.tsx` of its folder in features/ exports it as `feature`. */
export interface Feature {
  routes: RouteObject[]; // below the shell, without a leading slash
  /** A link in the header, sorted by `order`, for users with at least this role. */
  navigation?: { label: string; to: string; order: number; role: Role };
  /** Wraps header and pages, for work that continues while the user changes pages. */
  provider?: ComponentType<{ children: ReactNode }>;
  /** Shows the progress of that work in the header. */
  status?: ComponentType;
}

/** Found by path, so that adding a feature changes no other file. */
const found = import.meta.glob<Feature>('../features/*/routes.tsx', { eager: true, import: 'feature' });

export const FEATURES: readonly Feature[] = Object.values(found);
