/** Updates of a job that are pushed (cdk/appsync/schema.graphql), and how they merge with the API's answers. */
import type { Schema } from '../routes';

export type Job = Schema<'JobAnswer'>;

/** The fields that are pushed, by the API's names. */
const FIELDS = [
  'job_id',
  'tenant',
  'slide_id',
  'status',
  'version',
  'progress_seq',
  'progress',
  'tiles_planned',
  'tiles_inferred',
  'tiles_unreadable',
  'tiles_per_second',
  'eta_seconds',
  'reason',
] as const satisfies readonly (keyof Job)[];

export type JobUpdate = Pick<Job, (typeof FIELDS)[number]>;

/** Return GraphQL's name of a field: `jobId` for `job_id`. */
const toCamelCase = (field: string) => field.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

export const SUBSCRIPTION = `subscription Watch($jobId: ID) { onJobUpdate(jobId: $jobId) { ${FIELDS.map(toCamelCase).join(' ')} } }`;

/** Parse GraphQL's JobUpdate. */
export function parseUpdate(pushed: Record<string, unknown>): JobUpdate {
  return Object.fromEntries(FIELDS.map((field) => [field, pushed[toCamelCase(field)]])) as JobUpdate;
}

type Versioned = Pick<Job, 'version' | 'progress_seq'>;

/** Return a negative number if `one` is older than `other`. */
const compareAge = (one: Versioned, other: Versioned) => one.version - other.version || one.progress_seq - other.progress_seq;

/** Apply a pushed update if it is newer. Whatever the order, repetition or loss of updates, the newest one seen wins. */
export function mergeUpdate(known: Job, update: JobUpdate): Job {
  if (update.job_id !== known.job_id || compareAge(update, known) <= 0) return known;
  // It has just changed: what it waited for is over, or the API says it anew.
  return { ...known, ...update, waiting_for_capacity: false, waiting_for: null, expected_start_at: null };
}

/** Apply the API's answer unless it is stale. At equal age it replaces a push, since it contains more. */
export function mergeSnapshot(known: Job | undefined, snapshot: Job): Job {
  return known === undefined || compareAge(snapshot, known) >= 0 ? snapshot : known;
}

const LIVE: ReadonlySet<Job['status']> = new Set(['QUEUED', 'PLANNING', 'RUNNING', 'STITCHING']);

export const isFinal = ({ status }: Pick<Job, 'status'>) => !LIVE.has(status);
