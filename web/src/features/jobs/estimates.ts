/** What the jobs of a form would take, by dry runs of the API. */
import { useQueries } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useApi } from '../../api/context';
import { ApiProblem } from '../../api/problem';
import type { Schema } from '../../api/routes';
import { number } from '../../ui/format';
import { type Body, estimatedBody } from './draft';

export type Estimate = Schema<'EstimateAnswer'>;

const PAUSE = 400; // ms in typing after which it is counted

export interface Estimated {
  isCounting: boolean;
  total: Estimate | null; // of the slides that can be counted; null while any is
  refusals: ReadonlyMap<string, unknown>; // by slide id
  again: (() => void) | null; // where asking again may help
}

export function useEstimates(bodies: readonly Body[]): Estimated {
  const api = useApi();
  const wished = JSON.stringify(bodies.map(estimatedBody));
  const settled = useSettled(wished, PAUSE);
  const asked = JSON.parse(settled) as Body[];
  const found = useQueries({
    queries: asked.map((body) => ({
      queryKey: ['estimate', body],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        // It writes nothing, so that it may be tried again: what the key says.
        api.post('/jobs', { query: { dry_run: true }, body, idempotencyKey: crypto.randomUUID(), signal }),
      staleTime: 60_000, // ms; it changes when the slide is inspected anew
    })),
  });
  const isCounting = wished !== settled || found.some(({ isFetching }) => isFetching);
  const counts = found.flatMap(({ data }) => (data && 'exact' in data ? data : []));
  const passing = found.filter(({ error }) => error instanceof ApiProblem && error.isPassing);
  return {
    isCounting,
    total: isCounting || counts.length === 0 ? null : sum(counts),
    refusals: new Map(found.flatMap(({ error }, at) => (error && asked[at] ? [[asked[at].slide_id, error]] : []))),
    again: passing.length === 0 ? null : () => void Promise.all(passing.map((query) => query.refetch())),
  };
}

export function sum(estimates: readonly Estimate[]): Estimate {
  return estimates.reduce((one, other) => ({
    tiles: one.tiles + other.tiles,
    shards: one.shards + other.shards,
    seconds: one.seconds + other.seconds,
    dollars: one.dollars + other.dollars,
    exact: one.exact && other.exact,
    warnings: [...new Set([...one.warnings, ...other.warnings])],
  }));
}

/** "1,204", or of a near count "about 1,200": two figures. */
export function tileCount({ tiles, exact }: Estimate): string {
  return exact ? number(tiles) : `about ${number(Number(tiles.toPrecision(2)))}`;
}

function useSettled(value: string, pause: number): string {
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
