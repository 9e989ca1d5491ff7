import { useQuery } from '@tanstack/react-query';
import { useApi } from '../api/context';
import type { Schema } from '../api/routes';

export type Role = Schema<'Role'>;

/** Operators administer tenants and have no role in one. */
const RANK: Record<Role, number> = { operator: -1, viewer: 0, analyst: 1, admin: 2 };

/** Whether a role includes another one, as in wsi/access.py: each role includes those below it. */
export function hasRole(has: Role | undefined, needed: Role): boolean {
  return has !== undefined && RANK[has] >= RANK[needed];
}

export function useMe() {
  const api = useApi();
  return useQuery({ queryKey: ['me'], queryFn: ({ signal }) => api.get('/me', { signal }), staleTime: Infinity });
}

/** Whether the user has at least this role; false while the role is not known. */
export function useHasRole(needed: Role): boolean {
  return hasRole(useMe().data?.role, needed);
}
