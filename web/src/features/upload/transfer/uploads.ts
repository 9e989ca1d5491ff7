import { findMatchingUpload } from './resume';
import type { TabLocks } from './tab_locks';
import type { Digest } from './digest';
import type { SlideToSend, IgnoredFile } from '../picking/slide_grouping';
import { TaskQueue } from './concurrency';
import type { Pause } from './retry';
import type { PutPart } from './put_part';
import type { UploadOptions, UploadServer } from './upload_server';
import { Speedometer } from './speedometer';
import { Transfer } from './transfer';
import { type UploadsView, isFinished, isActive, isUploaded, makeView } from './uploads_view';

const PARALLEL = 4; // parts sent at once over all slides, as in the command line
const TICK = 500; // ms between two updates of the progress

export interface UploadServices {
  server: UploadServer;
  digest: Digest;
  put: PutPart;
  locks: TabLocks;
  pause: Pause;
  now: () => number; // ms
  /** The status of a slide has changed at the server. */
  onSlidesChange: () => void;
}

/** All uploads of this tab. They continue while the user visits other pages. */
export class Uploads {
  private transfers: readonly Transfer[] = [];
  private ignored: readonly IgnoredFile[] = [];
  private view: UploadsView = makeView([], { counted: [], ignored: [], speed: null });
  private since = 0; // order of the first transfer that the total counts
  private timer: ReturnType<typeof setInterval> | null = null;
  private next = 0;
  private readonly listeners = new Set<() => void>();
  private readonly queue = new TaskQueue(PARALLEL);
  private readonly singleQueue = new TaskQueue(1);
  private readonly speedometer = new Speedometer();

  constructor(private readonly services: UploadServices) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Return the current view: the same object until something changes. */
  readonly current = (): UploadsView => this.view;

  /** Start the uploads of `slides`. A slide that is already being sent is ignored; a stopped one continues with the new files. */
  add(slides: readonly SlideToSend[], choice: UploadOptions, strays: readonly IgnoredFile[] = []): void {
    if (!this.transfers.some(isActive)) this.since = this.next;
    const duplicates: IgnoredFile[] = [];
    for (const slide of slides) {
      const same = this.transfers.find((other) => !isFinished(other) && isSame(other.slide, slide));
      if (!same) this.begin(slide, choice);
      else if (!isActive(same)) same.start(slide);
      else duplicates.push({ path: slide.folder + slide.name, reason: 'It is already being uploaded.' });
    }
    this.ignored = [...strays, ...duplicates];
    this.publish();
  }

  pause(key: string): void {
    const transfer = this.find(key);
    if (isActive(transfer)) transfer.stop('paused');
  }

  resume(key: string): void {
    const transfer = this.find(key);
    if (!isActive(transfer) && !isFinished(transfer)) transfer.start();
  }

  pauseAll(): void {
    for (const transfer of this.transfers) {
      if (transfer.phase !== 'finishing' && !isUploaded(transfer)) this.pause(transfer.key);
    }
  }

  /** Resume paused uploads, and with `broken` those that failed for the connection alone. */
  resumeAll({ broken = false } = {}): void {
    for (const { key, phase, isTransient } of this.transfers) {
      if (phase === 'paused' || (broken && phase === 'failed' && isTransient)) this.resume(key);
    }
  }

  /** Cancel an upload. Throws the server's error if that does not delete it. */
  cancel(key: string): Promise<void> {
    return this.find(key).cancel();
  }

  /** Remove finished uploads from the list. */
  remove(keys: readonly string[]): void {
    this.transfers = this.transfers.filter((transfer) => !keys.includes(transfer.key) || !isFinished(transfer));
    this.speedometer.restart();
    this.publish();
  }

  /** Return the ids of the uploads that any tab of this browser has locked. */
  lockedIds(): Promise<ReadonlySet<string>> {
    return this.services.locks.lockedIds();
  }

  clearIgnored(): void {
    this.ignored = [];
    this.publish();
  }

  /** Stop and forget all uploads, when the session ends. */
  stop(): void {
    for (const transfer of this.transfers) transfer.abandon();
    this.transfers = [];
    this.ignored = [];
    this.publish();
  }

  private begin(slide: SlideToSend, choice: UploadOptions): void {
    const order = this.next++;
    const around = {
      ...this.services,
      queue: this.queue,
      findUnfinished: this.findUnfinished,
    };
    const transfer: Transfer = new Transfer(String(order), slide, choice, order, around, () => {
      if (['inspecting', 'ready', 'rejected', 'cancelled'].includes(transfer.phase)) this.services.onSlidesChange();
      this.publish();
    });
    this.transfers = [...this.transfers, transfer];
    transfer.start();
  }

  private readonly findUnfinished = (slide: SlideToSend, choice: UploadOptions, signal: AbortSignal) =>
    this.singleQueue.run(0, signal, () => {
      const claimed = new Set(this.transfers.flatMap(({ slideId }) => slideId ?? []));
      return findMatchingUpload({ ...this.services, claimed }, slide, choice, signal);
    });

  private find(key: string): Transfer {
    const found = this.transfers.find((transfer) => transfer.key === key);
    if (!found) throw new Error(`There is no upload ${key}.`);
    return found;
  }

  private publish(): void {
    const now = this.services.now();
    const sent = this.transfers.reduce((sum, transfer) => sum + transfer.sent, 0);
    if (this.view.isSending) this.speedometer.sample(now, sent);
    else this.speedometer.restart();
    for (const transfer of this.transfers) transfer.speedometer.sample(now, transfer.sent);
    const counted = this.transfers.filter((transfer) => transfer.order >= this.since || !isFinished(transfer));
    this.view = makeView(this.transfers, { counted, ignored: this.ignored, speed: this.speedometer.speed });
    this.tick(this.view.isActive);
    for (const listener of this.listeners) listener();
  }

  /** Publish regularly while bytes are being sent: progress triggers no event. */
  private tick(isNeeded: boolean): void {
    if (isNeeded === (this.timer !== null)) return;
    if (this.timer !== null) clearInterval(this.timer);
    const publish = () => {
      this.publish();
    };
    this.timer = isNeeded ? setInterval(publish, TICK) : null;
  }
}

/** Whether both are the same files, including folder: DICOM series have equal names and sizes in different folders. */
function isSame(one: SlideToSend, other: SlideToSend): boolean {
  return (
    one.folder === other.folder &&
    one.files.length === other.files.length &&
    one.files.every(({ name, file }, index) => {
      const that = other.files[index];
      return that?.name === name && that.file.size === file.size && that.file.lastModified === file.lastModified;
    })
  );
}
