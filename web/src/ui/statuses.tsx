import type { Schema } from '../api/routes';
import { Badge, type Tone } from './Badge';

export type SlideState = Schema<'SlideState'>;
export type JobState = Schema<'JobState'>;

export interface StatusDisplay {
  label: string;
  tone: Tone;
  isTransient: boolean; // it changes without the user, so the page reads it again
}

const makeDisplay = (label: string, tone: Tone, isTransient = false): StatusDisplay => ({ label, tone, isTransient });

export const SLIDE_STATES: Record<SlideState, StatusDisplay> = {
  UPLOADING: makeDisplay('Uploading', 'busy', true),
  UPLOADED: makeDisplay('Being inspected', 'busy', true),
  READY: makeDisplay('Ready', 'good'),
  REJECTED: makeDisplay('Rejected', 'bad'),
  ARCHIVED: makeDisplay('Archived', 'plain'),
  RESTORING: makeDisplay('Being restored', 'busy', true),
  DELETED: makeDisplay('Deleted', 'plain'),
};

export const JOB_STATES: Record<JobState, StatusDisplay> = {
  QUEUED: makeDisplay('Queued', 'plain', true),
  PLANNING: makeDisplay('Planning', 'busy', true),
  RUNNING: makeDisplay('Running', 'busy', true),
  STITCHING: makeDisplay('Combining results', 'busy', true),
  COMPLETED: makeDisplay('Completed', 'good'),
  COMPLETED_WITH_UNREADABLE_TILES: makeDisplay('Completed, some tiles unreadable', 'warn'),
  NO_TISSUE: makeDisplay('No tissue found', 'warn'),
  FAILED: makeDisplay('Failed', 'bad'),
  CANCELLED: makeDisplay('Cancelled', 'plain'),
};

/** Return the status that `text` names; null for other text, such as a mistyped address. */
export function parseStatus<Status extends string>(statuses: Record<Status, StatusDisplay>, text: string | null): Status | null {
  return (Object.keys(statuses) as Status[]).find((status) => status === text) ?? null;
}

export function SlideStatus({ status }: { status: SlideState }) {
  return <Badge tone={SLIDE_STATES[status].tone}>{SLIDE_STATES[status].label}</Badge>;
}

export function JobStatus({ status }: { status: JobState }) {
  return <Badge tone={JOB_STATES[status].tone}>{JOB_STATES[status].label}</Badge>;
}
