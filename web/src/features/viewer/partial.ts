import { useEffect, useState } from 'react';
import type { ApiClient } from '../../api/client';
import { useApi } from '../../api/context';
import type { Schema } from '../../api/routes';
import { type Outcome, type Plan, addShard, readPlan } from './outcome';
import { type Job, hasResults, isPassing } from './queries';

const PAUSE = 2500; // ms between two looks
const AT_ONCE = 20; // shards of a look

export interface Grown {
  outcome: Outcome | null; // the same object while it fills
  tiles: number; // how full it is
  error: unknown;
}

const NOTHING: Grown = { outcome: null, tiles: 0, error: null };

/** The scores of the shards that have finished, while the job runs and where it ended early. */
export function useGrowing(job: Job | undefined): Grown {
  const api = useApi();
  const [grown, setGrown] = useState<{ jobId: string; grown: Grown } | null>(null);
  const jobId = job !== undefined && !hasResults(job) ? job.job_id : null;
  const goesOn = job !== undefined && isPassing(job);
  useEffect(() => {
    if (jobId === null) return undefined;
    const leaving = new AbortController();
    const say = (next: Grown) => {
      if (!leaving.signal.aborted) setGrown({ jobId, grown: next });
    };
    void follow(api, jobId, goesOn, say, leaving.signal);
    return () => {
      leaving.abort();
    };
  }, [api, jobId, goesOn]);
  return grown !== null && grown.jobId === job?.job_id ? grown.grown : NOTHING; // until its results are here, too
}

/** Looks until it is told to leave; once through all that there is when the job is over. */
async function follow(
  api: ApiClient,
  jobId: string,
  goesOn: boolean,
  say: (grown: Grown) => void,
  signal: AbortSignal,
): Promise<void> {
  let plan: Plan | null = null;
  let after: string | null = null;
  while (!signal.aborted) {
    try {
      const look: Schema<'PartialResults'> = await api.get('/jobs/{job_id}/partial', { path: { job_id: jobId }, query: { after, limit: AT_ONCE }, signal });
      if (look.plan_url != null) plan ??= await readPlan(look.plan_url, signal);
      for (const shard of look.items) {
        if (plan !== null) await addShard(shard, plan, signal);
      }
      after = look.after;
      if (plan !== null) say({ outcome: plan.outcome, tiles: filled(plan.outcome), error: null });
      if (look.items.length > 0) continue;
    } catch (error) {
      say({ outcome: plan?.outcome ?? null, tiles: plan ? filled(plan.outcome) : 0, error });
    }
    if (!goesOn) return;
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

const filled = ({ scores }: Outcome) => scores.count + scores.unreadableCount;
