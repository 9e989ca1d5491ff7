/** One submission of a form: a job for each of its slides. */
import type { Schema } from '../../api/routes';
import type { Body } from './draft';

export type Submitted = Schema<'JobSubmitted'>;
export type Started = { slideId: string; job: Submitted };
export type Refused = { slideId: string; error: unknown };
export type Outcome = Started | Refused;

const AT_ONCE = 4; // requests; an hour's worth of jobs is not worth a burst

/**
 * The idempotency keys of one form: the same wish has the same key however often it is sent, so that a double click
 * or a second try after a broken connection makes one job. A changed wish has another one.
 */
export class Keys {
  private readonly keys = new Map<string, string>();

  constructor(private readonly make: () => string = () => crypto.randomUUID()) {}

  of(body: Body): string {
    const wish = JSON.stringify(body);
    const key = this.keys.get(wish) ?? this.make();
    this.keys.set(wish, key);
    return key;
  }
}

/** Asks for each; one that is refused keeps no other. In the order of `bodies`. */
export async function submitAll(
  bodies: readonly Body[],
  submit: (body: Body) => Promise<Submitted>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  let next = 0;
  const lane = async () => {
    for (let at = next++; at < bodies.length; at = next++) {
      const body = bodies[at];
      if (body) outcomes[at] = await outcomeOf(body, submit);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return outcomes;
}

async function outcomeOf(body: Body, submit: (body: Body) => Promise<Submitted>): Promise<Outcome> {
  try {
    return { slideId: body.slide_id, job: await submit(body) };
  } catch (error) {
    return { slideId: body.slide_id, error };
  }
}

export const succeeded = (outcome: Outcome): outcome is Started => 'job' in outcome;
export const isRefused = (outcome: Outcome): outcome is Refused => 'error' in outcome;

/** News for who pressed the button. */
export function newsOf(jobs: readonly Submitted[]): string {
  const reused = jobs.filter((job) => job.reused).length;
  const [only] = jobs;
  if (jobs.length === 1 && only) {
    return only.reused ? 'An equal job had finished: this is its result.' : 'The job was started.';
  }
  const started = jobs.length - reused;
  const words = `${started} ${started === 1 ? 'job was' : 'jobs were'} started`;
  return reused === 0 ? `${words}.` : `${words}; of the other ${reused} an equal one had finished, whose result is shown.`;
}
