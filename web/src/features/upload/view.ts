/** What is shown of the uploads. */
import type { Stray } from './grouping';
import type { Choice } from './server';
import type { Phase, Transfer } from './transfer';

export interface Line {
  key: string;
  name: string;
  folder: string;
  size: number; // bytes
  fileCount: number;
  choice: Choice;
  phase: Phase;
  arrived: number; // bytes
  speed: number | null; // bytes a second; null when nothing moves or nobody knows yet
  slideId: string | null;
  sentence: string | null;
}

export interface Total {
  count: number; // slides, without those that failed or were cancelled
  there: number; // of these, all of whose bytes are with the server
  size: number; // bytes
  arrived: number;
  speed: number | null;
}

export interface View {
  lines: readonly Line[];
  strays: readonly Stray[];
  total: Total;
  isSending: boolean; // what closing the tab would break off
  isGoing: boolean; // something moves by itself
}

const GOING: readonly Phase[] = ['waiting', 'checking', 'sending', 'finishing', 'inspecting'];
const ENDED: readonly Phase[] = ['ready', 'rejected', 'cancelled'];
const THERE: readonly Phase[] = ['inspecting', 'ready', 'rejected'];

export const isGoing = ({ phase }: { phase: Phase }) => GOING.includes(phase);
export const isEnded = ({ phase }: { phase: Phase }) => ENDED.includes(phase);
export const isThere = ({ phase }: { phase: Phase }) => THERE.includes(phase);

interface Beside {
  counted: readonly Transfer[]; // in the total
  strays: readonly Stray[];
  speed: number | null;
}

export function viewOf(transfers: readonly Transfer[], { counted: within, strays, speed }: Beside): View {
  const lines = transfers.map(lineOf);
  const counted = within.map(lineOf).filter(({ phase }) => phase !== 'failed' && phase !== 'cancelled');
  const isSending = lines.some((line) => isGoing(line) && !isThere(line));
  return {
    lines,
    strays,
    total: {
      count: counted.length,
      there: counted.filter(isThere).length,
      size: counted.reduce((sum, { size }) => sum + size, 0),
      arrived: counted.reduce((sum, { arrived }) => sum + arrived, 0),
      speed: isSending ? speed : null,
    },
    isSending,
    isGoing: lines.some(isGoing),
  };
}

function lineOf(transfer: Transfer): Line {
  const { key, slide, choice, phase, slideId, sentence, speedometer } = transfer;
  return {
    key,
    name: slide.name,
    folder: slide.folder,
    size: slide.size,
    fileCount: slide.files.length,
    choice,
    phase,
    arrived: Math.min(isThere(transfer) ? slide.size : transfer.arrived, slide.size),
    speed: phase === 'sending' ? speedometer.speed : null,
    slideId,
    sentence,
  };
}

/** Seconds until all has arrived. */
export function secondsLeft({ size, arrived, speed }: { size: number; arrived: number; speed: number | null }): number | null {
  return speed === null || speed <= 0 ? null : (size - arrived) / speed;
}
