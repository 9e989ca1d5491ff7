/** What is pushed of a job (cdk/appsync/schema.graphql), and how it merges with what the API says. */
import type { Schema } from '../routes';

export type Job = Schema<'JobAnswer'>;

/** GraphQL's name of each field → the API's. */
const NAMES = {
  jobId: 'job_id',
  tenant: 'tenant',
  slideId: 'slide_id',
  status: 'status',
  version: 'version',
  progressSeq: 'progress_seq',
  progress: 'progress',
  tilesPlanned: 'tiles_planned',
  tilesInferred: 'tiles_inferred',
  tilesUnreadable: 'tiles_unreadable',
  tilesPerSecond: 'tiles_per_second',
  etaSeconds: 'eta_seconds',
  reason: 'reason',
} as const satisfies Record<string, keyof Job>;

export type JobUpdate = Pick<Job, (typeof NAMES)[keyof typeof NAMES]>;

export const SUBSCRIPTION = `subscription Watch($jobId: ID) { onJobUpdate(jobId: $jobId) { ${Object.keys(NAMES).join(' ')} } }`;

/** From GraphQL's type of that name. */
export function updateOf(pushed: Record<string, unknown>): JobUpdate {
  return Object.fromEntries(Object.entries(NAMES).map(([camel, name]) => [name, pushed[camel]])) as JobUpdate;
}

type Ordered = Pick<Job, 'version' | 'progress_seq'>;

/** Below zero where `one` was seen of the job before `other`. */
const order = (one: Ordered, other: Ordered) => one.version - other.version || one.progress_seq - other.progress_seq;

/** With a pushed update, where it is newer. Any order, repetition or loss of updates ends at the newest one seen. */
export function withUpdate(known: Job, update: JobUpdate): Job {
  if (update.job_id !== known.job_id || order(update, known) <= 0) return known;
  return { ...known, ...update, waiting_for_capacity: false }; // it has moved just now
}

/** With what the API says: it says more than a push of the same moment, and a stale answer says nothing. */
export function withSnapshot(known: Job | undefined, snapshot: Job): Job {
  return known === undefined || order(snapshot, known) >= 0 ? snapshot : known;
}

const LIVE: ReadonlySet<Job['status']> = new Set(['QUEUED', 'PLANNING', 'RUNNING', 'STITCHING']);

export const isFinal = ({ status }: Pick<Job, 'status'>) => !LIVE.has(status);
