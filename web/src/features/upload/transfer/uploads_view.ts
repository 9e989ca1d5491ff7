/** The state of the uploads as the page shows it. */
import type { IgnoredFile } from '../picking/slide_grouping';
import type { UploadOptions } from './upload_server';
import type { Phase, Transfer } from './transfer';

export interface UploadLine {
  key: string;
  name: string;
  folder: string;
  size: number; // bytes
  fileCount: number;
  choice: UploadOptions;
  phase: Phase;
  arrived: number; // bytes
  speed: number | null; // bytes per second; null if nothing is sent or the speed is not known yet
  slideId: string | null;
  sentence: string | null;
}

export interface UploadTotals {
  count: number; // slides, without those that failed or were cancelled
  uploadedCount: number; // those whose bytes have all arrived
  size: number; // bytes
  arrived: number;
  speed: number | null;
}

export interface UploadsView {
  lines: readonly UploadLine[];
  ignored: readonly IgnoredFile[];
  total: UploadTotals;
  isSending: boolean; // closing the tab would interrupt something
  isActive: boolean; // something changes without the user
}

const ACTIVE: readonly Phase[] = ['waiting', 'checking', 'sending', 'finishing', 'inspecting'];
const FINISHED: readonly Phase[] = ['ready', 'rejected', 'cancelled'];
const UPLOADED: readonly Phase[] = ['inspecting', 'ready', 'rejected'];

export const isActive = ({ phase }: { phase: Phase }) => ACTIVE.includes(phase);
export const isFinished = ({ phase }: { phase: Phase }) => FINISHED.includes(phase);
export const isUploaded = ({ phase }: { phase: Phase }) => UPLOADED.includes(phase);

interface ViewContext {
  counted: readonly Transfer[]; // the transfers in the total
  ignored: readonly IgnoredFile[];
  speed: number | null;
}

export function makeView(transfers: readonly Transfer[], { counted: within, ignored, speed }: ViewContext): UploadsView {
  const lines = transfers.map(makeLine);
  const counted = within.map(makeLine).filter(({ phase }) => phase !== 'failed' && phase !== 'cancelled');
  const isSending = lines.some((line) => isActive(line) && !isUploaded(line));
  return {
    lines,
    ignored,
    total: {
      count: counted.length,
      uploadedCount: counted.filter(isUploaded).length,
      size: counted.reduce((sum, { size }) => sum + size, 0),
      arrived: counted.reduce((sum, { arrived }) => sum + arrived, 0),
      speed: isSending ? speed : null,
    },
    isSending,
    isActive: lines.some(isActive),
  };
}

function makeLine(transfer: Transfer): UploadLine {
  const { key, slide, choice, phase, slideId, sentence, speedometer } = transfer;
  return {
    key,
    name: slide.name,
    folder: slide.folder,
    size: slide.size,
    fileCount: slide.files.length,
    choice,
    phase,
    arrived: Math.min(isUploaded(transfer) ? slide.size : transfer.arrived, slide.size),
    speed: phase === 'sending' ? speedometer.speed : null,
    slideId,
    sentence,
  };
}

/** Return the seconds until everything is uploaded; null if unknown. */
export function estimateSecondsLeft({ size, arrived, speed }: { size: number; arrived: number; speed: number | null }): number | null {
  return speed === null || speed <= 0 ? null : (size - arrived) / speed;
}
