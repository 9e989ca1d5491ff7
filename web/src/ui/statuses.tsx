import type { Schema } from '../api/routes';
import { Badge, type Tone } from './Badge';

export type SlideState = Schema<'SlideState'>;
export type JobState = Schema<'JobState'>;

export interface Shown {
  label: string;
  tone: Tone;
  isPassing: boolean; // it goes on by itself, so that it is worth looking again
}

const shown = (label: string, tone: Tone, isPassing = false): Shown => ({ label, tone, isPassing });

export const SLIDE_STATES: Record<SlideState, Shown> = {
  UPLOADING: shown('Uploading', 'busy', true),
  UPLOADED: shown('Being inspected', 'busy', true),
  READY: shown('Ready', 'good'),
  REJECTED: shown('Rejected', 'bad'),
  ARCHIVED: shown('Archived', 'plain'),
  RESTORING: shown('Being restored', 'busy', true),
  DELETED: shown('Deleted', 'plain'),
};

export const JOB_STATES: Record<JobState, Shown> = {
  QUEUED: shown('Queued', 'plain', true),
  PLANNING: shown('Planning', 'busy', true),
  RUNNING: shown('Running', 'busy', true),
  STITCHING: shown('Putting results together', 'busy', true),
  COMPLETED: shown('Completed', 'good'),
  COMPLETED_WITH_UNREADABLE_TILES: shown('Completed, some tiles unreadable', 'warn'),
  NO_TISSUE: shown('No tissue found', 'warn'),
  FAILED: shown('Failed', 'bad'),
  CANCELLED: shown('Cancelled', 'plain'),
};

/** The one of `statuses` that `text` is; null: none, as of an address that was typed. */
export function statusIn<Status extends string>(statuses: Record<Status, Shown>, text: string | null): Status | null {
  return (Object.keys(statuses) as Status[]).find((status) => status === text) ?? null;
}

export function SlideStatus({ status }: { status: SlideState }) {
  return <Badge tone={SLIDE_STATES[status].tone}>{SLIDE_STATES[status].label}</Badge>;
}

export function JobStatus({ status }: { status: JobState }) {
  return <Badge tone={JOB_STATES[status].tone}>{JOB_STATES[status].label}</Badge>;
}
