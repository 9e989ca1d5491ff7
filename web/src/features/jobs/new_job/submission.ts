/** Submits a form: one job for each of its slides. */
import type { Schema } from '../../../api/routes';
import type { Body } from './draft';

export type Submitted = Schema<'JobSubmitted'>;
export type Started = { slideId: string; job: Submitted };
export type Refused = { slideId: string; error: unknown };
export type SubmissionOutcome = Started | Refused;

const PARALLEL = 4; // requests; jobs that run for an hour need no burst

/**
 * The idempotency keys of one form. Equal requests share a key, so that a double click or a retry after a broken
 * connection makes one job. A changed request gets another key.
 */
export class IdempotencyKeys {
  private readonly keys = new Map<string, string>();

  constructor(private readonly make: () => string = () => crypto.randomUUID()) {}

  keyFor(body: Body): string {
    const request = JSON.stringify(body);
    const key = this.keys.get(request) ?? this.make();
    this.keys.set(request, key);
    return key;
  }
}

/** Submit all bodies, even if some are refused. Return the outcomes in the order of `bodies`. */
export async function submitAll(
  bodies: readonly Body[],
  submit: (body: Body) => Promise<Submitted>,
): Promise<SubmissionOutcome[]> {
  const outcomes: SubmissionOutcome[] = [];
  let next = 0;
  const lane = async () => {
    for (let at = next++; at < bodies.length; at = next++) {
      const body = bodies[at];
      if (body) outcomes[at] = await submitOne(body, submit);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, lane));
  return outcomes;
}

async function submitOne(body: Body, submit: (body: Body) => Promise<Submitted>): Promise<SubmissionOutcome> {
  try {
    return { slideId: body.slide_id, job: await submit(body) };
  } catch (error) {
    return { slideId: body.slide_id, error };
  }
}

export const isStarted = (outcome: SubmissionOutcome): outcome is Started => 'job' in outcome;
export const isRefused = (outcome: SubmissionOutcome): outcome is Refused => 'error' in outcome;

/** Summarise the started jobs for the user. */
export function summariseJobs(jobs: readonly Submitted[]): string {
  const reused = jobs.filter((job) => job.reused).length;
  const [only] = jobs;
  if (jobs.length === 1 && only) {
    if (only.shared) return 'An identical job is already under way. This is it.';
    return only.reused ? 'An identical job had already finished. This is its result.' : 'The job was started.';
  }
  const shared = jobs.filter((job) => job.shared).length;
  const started = jobs.length - reused - shared;
  const words = [`${started} ${started === 1 ? 'job was' : 'jobs were'} started`];
  if (reused > 0) words.push(`${reused} identical ${reused === 1 ? 'job' : 'jobs'} had already finished`);
  if (shared > 0) words.push(`${shared} identical ${shared === 1 ? 'job is' : 'jobs are'} already under way`);
  return `${words.join('; ')}.`;
}
