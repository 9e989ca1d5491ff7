/** This feature's queries to the API. */
import { useQuery } from '@tanstack/react-query';
import { useApi } from '../../api/context';
import type { Schema } from '../../api/routes';

export type Usage = Schema<'UsageAnswer'>;
export type UsageLine = Schema<'UsageLineAnswer'>;
export type Budget = Schema<'BudgetAnswer'>;
export type By = Schema<'UsageBy'>;

const STALE_TIME = 60_000; // ms

/** Read the usage of a month ("2026-11"). */
export function useUsage(by: By, month: string) {
  const api = useApi();
  return useQuery({
    queryKey: ['usage', by, month],
    queryFn: ({ signal }) => api.get('/usage', { query: { by, from: `${month}-01`, to: lastDayOf(month) }, signal }),
    staleTime: STALE_TIME,
  });
}

/** Return the last `count` months, this one first, in UTC as the server counts: "2026-11". */
export function listMonths(now: Date, count: number): string[] {
  return Array.from({ length: count }, (_, ago) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago, 1)).toISOString().slice(0, 7),
  );
}

function lastDayOf(month: string): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10);
}
