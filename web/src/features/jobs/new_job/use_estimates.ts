/** Estimates the cost of a form's jobs, by dry runs of the API. */
import { useQueries } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useApi } from '../../../api/context';
import { ApiProblem } from '../../../api/problem';
import type { Schema } from '../../../api/routes';
import { formatNumber } from '../../../ui/format';
import { type Body, makeEstimateBody } from './draft';

export type Estimate = Schema<'EstimateAnswer'>;

const DEBOUNCE = 400; // ms after the last keystroke

export interface Estimates {
  isCounting: boolean;
  total: Estimate | null; // over the slides that can be estimated; null while one is pending
  refusals: ReadonlyMap<string, unknown>; // by slide id
  retry: (() => void) | null; // null: a retry cannot help
}

export function useEstimates(bodies: readonly Body[]): Estimates {
  const api = useApi();
  const current = JSON.stringify(bodies.map(makeEstimateBody));
  const settled = useDebounced(current, DEBOUNCE);
  const requested = JSON.parse(settled) as Body[];
  const found = useQueries({
    queries: requested.map((body) => ({
      queryKey: ['estimate', body],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        // A dry run writes nothing, so the key marks it as safe to retry.
        api.post('/jobs', { query: { dry_run: true }, body, idempotencyKey: crypto.randomUUID(), signal }),
      staleTime: 60_000, // ms; it changes when the slide is inspected again
    })),
  });
  const isCounting = current !== settled || found.some(({ isFetching }) => isFetching);
  const counts = found.flatMap(({ data }) => (data && 'exact' in data ? data : []));
  const passing = found.filter(({ error }) => error instanceof ApiProblem && error.isTransient);
  return {
    isCounting,
    total: isCounting || counts.length === 0 ? null : sumEstimates(counts),
    refusals: new Map(found.flatMap(({ error }, at) => (error && requested[at] ? [[requested[at].slide_id, error]] : []))),
    retry: passing.length === 0 ? null : () => void Promise.all(passing.map((query) => query.refetch())),
  };
}

export function sumEstimates(estimates: readonly Estimate[]): Estimate {
  return estimates.reduce((one, other) => ({
    tiles: one.tiles + other.tiles,
    shards: one.shards + other.shards,
    seconds: one.seconds + other.seconds,
    dollars: one.dollars + other.dollars,
    measured: one.measured && other.measured,
    exact: one.exact && other.exact,
    warnings: [...new Set([...one.warnings, ...other.warnings])],
  }));
}

/** Return "1,204", or for an approximate count "about 1,200", with two significant figures. */
export function formatTileCount({ tiles, exact }: Estimate): string {
  return exact ? formatNumber(tiles) : `about ${formatNumber(Number(tiles.toPrecision(2)))}`;
}

function useDebounced(value: string, pause: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => {
      setSettled(value);
    }, pause);
    return () => {
      clearTimeout(timer);
    };
  }, [value, pause]);
  return settled;
}
