import { useEffect, useState } from 'react';
import type { ApiClient } from '../../../api/client';
import { useApi } from '../../../api/context';
import type { Schema } from '../../../api/routes';
import { type TileResults, type Plan, addShard, readPlan } from './load_results';
import { type OutputKind, hasScores } from './output';
import { type Job, hasResults, isTransient } from './queries';

const POLL_INTERVAL = 2500; // ms between two reads
const SHARDS_PER_READ = 20

export interface PartialResults {
  results: TileResults | null; // the same object while it grows
  tiles: number; // loaded so far
  output: OutputKind | null; // null: not known yet
  error: unknown;
}

const NO_RESULTS: PartialResults = { results: null, tiles: 0, output: null, error: null };

/** Reads the scores of finished shards, while the job runs and after it ended early. Other outputs come at its end. */
export function usePartialResults(job: Job | undefined): PartialResults {
  const api = useApi();
  const [grown, setGrown] = useState<{ jobId: string; grown: PartialResults } | null>(null);
  const jobId = job !== undefined && !hasResults(job) ? job.job_id : null;
  const isRunning = job !== undefined && isTransient(job);
  useEffect(() => {
    if (jobId === null) return undefined;
    const abort = new AbortController();
    const publish = (next: PartialResults) => {
      if (!abort.signal.aborted) setGrown({ jobId, grown: next });
    };
    void pollPartialResults(api, jobId, isRunning, publish, abort.signal);
    return () => {
      abort.abort();
    };
  }, [api, jobId, isRunning]);
  return grown !== null && grown.jobId === job?.job_id ? grown.grown : NO_RESULTS; // also until its final results have loaded
}

/** Read shards until `signal` is aborted; for a job that has ended, read all shards once. */
async function pollPartialResults(
  api: ApiClient,
  jobId: string,
  isRunning: boolean,
  publish: (grown: PartialResults) => void,
  signal: AbortSignal,
): Promise<void> {
  let plan: Plan | null = null;
  let after: string | null = null;
  let output: OutputKind | null = null;
  while (!signal.aborted) {
    try {
      const page: Schema<'PartialResults'> = await api.get('/jobs/{job_id}/partial', { path: { job_id: jobId }, query: { after, limit: SHARDS_PER_READ }, signal });
      output = page.output;
      if (!hasScores(output)) {
        publish({ ...NO_RESULTS, output });
        return;
      }
      if (page.plan_url != null) plan ??= await readPlan(page.plan_url, signal);
      for (const shard of page.items) {
        if (plan !== null) await addShard(shard, plan, signal);
      }
      after = page.after;
      if (plan !== null) publish({ results: plan.results, tiles: countTiles(plan.results), output, error: null });
      if (page.items.length > 0) continue;
    } catch (error) {
      publish({ results: plan?.results ?? null, tiles: plan ? countTiles(plan.results) : 0, output, error });
    }
    if (!isRunning) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL));
  }
}

const countTiles = ({ scores }: TileResults) => scores.count + scores.unreadableCount;
