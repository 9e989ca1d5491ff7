import { useQuery } from '@tanstack/react-query';
import { useApi } from '../api/context';
import type { Schema } from '../api/routes';

export type Role = Schema<'Role'>;

const RANK: Record<Role, number> = { viewer: 0, analyst: 1, admin: 2 };

/** As the API decides (wsi/access.py): each role may what those below it may. */
export function may(has: Role | undefined, needed: Role): boolean {
  return has !== undefined && RANK[has] >= RANK[needed];
}

export function useMe() {
  const api = useApi();
  return useQuery({ queryKey: ['me'], queryFn: ({ signal }) => api.get('/me', { signal }), staleTime: Infinity });
}

/** Whether to offer what needs this role; false while the role is not known. */
export function useMay(needed: Role): boolean {
  return may(useMe().data?.role, needed);
}
