/** Queries of a job's results: its files, and summary.json. */
import { useQuery } from '@tanstack/react-query';
import { useApi } from '../../../api/context';
import type { Schema } from '../../../api/routes';

export type ResultFile = Schema<'ResultAnswer'>;

export const LINK_LIFETIME = 14 * 60_000; // ms that a link is used, a minute less than S3 allows

export function useResults(jobId: string, enabled: boolean) {
  const api = useApi();
  return useQuery({
    queryKey: ['job', jobId, 'results'],
    queryFn: async ({ signal }) => (await api.get('/jobs/{job_id}/results', { path: { job_id: jobId }, signal })).items,
    enabled,
    staleTime: LINK_LIFETIME, // each request is recorded in the audit log
    refetchOnWindowFocus: false,
  });
}

/** The fields of summary.json that the page shows (wsi/results/summary.py). */
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
  model: { mpp: number; licence?: string | null; embedding?: { dimensions: number } };
  objects?: { found: number; classes: Readonly<Record<string, number>> };
  numerics: { precision?: string };
  warnings: string[];
  code_version: string;
  run: { inference: { seconds: number; hardware: string[] } };
}

/** Reads summary.json once: a finished job's summary never changes. */
export function useSummary(jobId: string, files: readonly ResultFile[] | undefined) {
  const url = files?.find(({ name }) => name === 'summary.json')?.url;
  return useQuery({
    queryKey: ['job', jobId, 'summary'],
    queryFn: ({ signal }) => readSummary(url ?? '', signal),
    enabled: url !== undefined,
    staleTime: Infinity,
  });
}

/** Read summary.json. `url` is presigned and needs no other credential. */
async function readSummary(url: string, signal: AbortSignal): Promise<Summary> {
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new Error(`summary.json could not be read (status ${answer.status}).`);
  return (await answer.json()) as Summary;
}

/** Count the tiles lost to each fault in the slide's file, most frequent first. */
export function countReasons(unreadable: Summary['unreadable']): [reason: string, tiles: number][] {
  const counts = new Map<string, number>();
  for (const { reason } of unreadable) {
    const kinds = reason.split(/; (?=file tile)/).map((one) => one.replace(/^file tile \d+: /, '')); // the results list which
    for (const kind of new Set(kinds)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return [...counts].sort(([, one], [, other]) => other - one);
}
