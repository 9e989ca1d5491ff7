import type { Tone } from '../../ui/Badge';
import { bytes, duration, number } from '../../ui/format';
import type { Choice } from './server';
import type { Phase } from './transfer';
import { secondsLeft } from './view';

export const PHASES: Record<Phase, { label: string; tone: Tone }> = {
  waiting: { label: 'Waiting', tone: 'plain' },
  checking: { label: 'Checking what has arrived', tone: 'busy' },
  sending: { label: 'Uploading', tone: 'busy' },
  paused: { label: 'Paused', tone: 'warn' },
  finishing: { label: 'Putting together', tone: 'busy' },
  inspecting: { label: 'Being inspected', tone: 'busy' },
  ready: { label: 'Ready', tone: 'good' },
  rejected: { label: 'Rejected', tone: 'bad' },
  failed: { label: 'Stopped', tone: 'bad' },
  cancelled: { label: 'Cancelled', tone: 'plain' },
};

/** "1.2 GB of 3.2 GB · 45 MB/s · 1 min left" */
export function progressOf(moving: { arrived: number; size: number; speed: number | null }): string {
  const left = secondsLeft(moving);
  const parts = [`${bytes(moving.arrived)} of ${bytes(moving.size)}`];
  if (left !== null && moving.speed !== null) parts.push(`${bytes(moving.speed)}/s`, `${duration(left)} left`);
  return parts.join(' · ');
}

/** What was stated of a slide; empty when nothing was. */
export function chosen({ mpp, opticalPath, focalPlane, picture }: Choice): string {
  return [
    mpp !== null && `${number(mpp, 4)} µm a pixel`,
    opticalPath !== null && `optical path ${opticalPath}`,
    focalPlane !== null && `focal plane ${focalPlane}`,
    picture !== null && `image ${picture}`,
  ]
    .filter(Boolean)
    .join(', ');
}

export const slides = (count: number) => (count === 1 ? '1 slide' : `${number(count)} slides`);
