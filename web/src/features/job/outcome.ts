/** What a job has left: its files, and the figures of summary.json. */
import { useQuery } from '@tanstack/react-query';
import { useApi } from '../../api/context';
import type { Schema } from '../../api/routes';

export type ResultFile = Schema<'ResultAnswer'>;

export const LINK = 14 * 60_000; // ms that a link is good for, a minute before S3 says so

export function useResults(jobId: string, enabled: boolean) {
  const api = useApi();
  return useQuery({
    queryKey: ['job', jobId, 'results'],
    queryFn: async ({ signal }) => (await api.get('/jobs/{job_id}/results', { path: { job_id: jobId }, signal })).items,
    enabled,
    staleTime: LINK, // each asking is noted in the audit log
    refetchOnWindowFocus: false,
  });
}

/** What the page shows of summary.json (wsi/results/summary.py). */
export interface Summary {
  tiles: { planned: number; inferred: number; unreadable: number };
  quality: {
    measured: number;
    medians?: { blur: number; white_fraction: number; pen_fraction: number; saturation: number };
    mostly_white?: number;
    with_pen?: number;
  };
  unreadable: { reason: string }[];
  slide: {
    width: number;
    height: number;
    mpp: number;
    mpp_y: number;
    tissue_um2: number;
    tissue_fraction: number;
  };
  model: { mpp: number };
  numerics: { precision?: string };
  warnings: string[];
  code_version: string;
  run: { inference: { seconds: number; hardware: string[] } };
}

/** Once: a finished job's summary never changes. */
export function useSummary(jobId: string, files: readonly ResultFile[] | undefined) {
  const url = files?.find(({ name }) => name === 'summary.json')?.url;
  return useQuery({
    queryKey: ['job', jobId, 'summary'],
    queryFn: ({ signal }) => readSummary(url ?? '', signal),
    enabled: url !== undefined,
    staleTime: Infinity,
  });
}

/** `url` is presigned: whoever holds it needs no other credential. */
async function readSummary(url: string, signal: AbortSignal): Promise<Summary> {
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new Error(`summary.json could not be read (status ${answer.status}).`);
  return (await answer.json()) as Summary;
}

/** What was wrong with the file's tiles below, and how many tiles that cost, most first. */
export function reasonsOf(unreadable: Summary['unreadable']): [reason: string, tiles: number][] {
  const counts = new Map<string, number>();
  for (const { reason } of unreadable) {
    const kinds = reason.split(/; (?=file tile)/).map((one) => one.replace(/^file tile \d+: /, '')); // which, the file says
    for (const kind of new Set(kinds)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return [...counts].sort(([, one], [, other]) => other - one);
}
