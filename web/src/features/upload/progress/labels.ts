import type { Tone } from '../../../ui/Badge';
import { formatBytes, formatDuration, formatNumber } from '../../../ui/format';
import type { UploadOptions } from '../transfer/upload_server';
import type { Phase } from '../transfer/transfer';
import { estimateSecondsLeft } from '../transfer/uploads_view';

export const PHASES: Record<Phase, { label: string; tone: Tone }> = {
  waiting: { label: 'Waiting', tone: 'plain' },
  checking: { label: 'Checking uploaded parts', tone: 'busy' },
  sending: { label: 'Uploading', tone: 'busy' },
  paused: { label: 'Paused', tone: 'warn' },
  finishing: { label: 'Finishing', tone: 'busy' },
  inspecting: { label: 'Being inspected', tone: 'busy' },
  ready: { label: 'Ready', tone: 'good' },
  rejected: { label: 'Rejected', tone: 'bad' },
  failed: { label: 'Stopped', tone: 'bad' },
  cancelled: { label: 'Cancelled', tone: 'plain' },
};

/** Describe progress: "1.2 GB of 3.2 GB · 45 MB/s · 1 min left". */
export function describeProgress(moving: { arrived: number; size: number; speed: number | null }): string {
  const left = estimateSecondsLeft(moving);
  const parts = [`${formatBytes(moving.arrived)} of ${formatBytes(moving.size)}`];
  if (left !== null && moving.speed !== null) parts.push(`${formatBytes(moving.speed)}/s`, `${formatDuration(left)} left`);
  return parts.join(' · ');
}

/** List the values that the user stated for a slide; empty if none. */
export function describeOptions({ mpp, optical_path, focal_plane, picture }: UploadOptions): string {
  return [
    mpp !== null && `${formatNumber(mpp, 4)} µm per pixel`,
    optical_path !== null && `optical path ${optical_path}`,
    focal_plane !== null && `focal plane ${focal_plane}`,
    picture !== null && `image ${picture}`,
  ]
    .filter(Boolean)
    .join(', ');
}

export const countSlides = (count: number) => (count === 1 ? '1 slide' : `${formatNumber(count)} slides`);
