/** This feature's query to the API. */
import { useApi } from '../../api/context';
import { usePages } from '../../api/use_pages';
import type { Schema } from '../../api/routes';
import { type FilterOf, activeFilters } from '../../ui/list_filter';

export type AuditLine = Schema<'AuditLineAnswer'>;

/** The filters of the log, by the API's names. */
export const AUDIT_FILTERS = {
  actor: (text: string | null) => text ?? '',
  action: (text: string | null) => text ?? '',
  subject: (text: string | null) => text ?? '',
};

export type AuditFilter = FilterOf<typeof AUDIT_FILTERS>;

export function useAuditLog(filter: AuditFilter) {
  const api = useApi();
  return usePages<AuditLine>(['audit', filter], (cursor, signal) =>
    api.get('/audit', { query: { ...activeFilters(filter), cursor: cursor ?? null, limit: 50 }, signal }),
  );
}
