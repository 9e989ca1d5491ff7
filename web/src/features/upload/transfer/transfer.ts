import { messageOf } from '../../../api/problem';
import { SLIDE_STATES } from '../../../ui/statuses';
import type { TabLocks } from './tab_locks';
import type { Digest } from './digest';
import type { SlideToSend } from '../picking/slide_grouping';
import type { TaskQueue } from './concurrency';
import { type StoredPart, type Part, partKey, hasSameSize, cutIntoParts } from './parts';
import { type Pause, isTransient, retry } from './retry';
import type { PutPart } from './put_part';
import { forget, remember } from './remembered_uploads';
import type { UploadOptions, Slide, UploadServer } from './upload_server';
import { Speedometer } from './speedometer';

export type Phase =
  | 'waiting' // for its turn
  | 'checking' // which parts the server has
  | 'sending'
  | 'paused'
  | 'finishing'
  | 'inspecting'
  | 'ready'
  | 'rejected'
  | 'failed' // can be retried
  | 'cancelled';

export interface TransferServices {
  server: UploadServer;
  digest: Digest;
  put: PutPart;
  queue: TaskQueue;
  locks: TabLocks;
  pause: Pause;
  now: () => number; // ms
  /** Finds an unfinished upload of the same slide that no transfer of this tab continues. */
  findUnfinished: (slide: SlideToSend, choice: UploadOptions, signal: AbortSignal) => Promise<string | null>;
}

/** Another tab has locked this upload. The page shows the message. */
export class LockedByOtherTab extends Error {
  override readonly name = 'SentElsewhere';

  constructor() {
    super('It is being uploaded in another tab of this browser.');
  }
}

const SETTLED: readonly Phase[] = ['inspecting', 'ready', 'rejected', 'cancelled']; // nothing is sent any longer
const FIRST_POLL = 700; // ms before the first read of the inspection's result; inspection takes seconds
const SLOWEST_POLL = 5000; // ms

/** The upload of one slide. Its fields change while it runs; `onChange` is called when the phase changes. */
export class Transfer {
  phase: Phase = 'waiting';
  slideId: string | null = null;
  sentence: string | null = null; // why the upload failed or the slide was rejected
  isTransient = false; // the upload failed for the connection alone
  sent = 0; // bytes that this tab has sent, including repeats
  readonly speedometer = new Speedometer();
  private readonly done = new Map<string, number>(); // key of a part → bytes
  private readonly moving = new Map<string, number>(); // key of a part → bytes sent
  private readonly digests = new Map<string, string>();
  private attempt = new AbortController();
  private opening: Promise<string> | null = null;
  private areAllPartsSent = false; // then the server may have completed the upload although its answer was lost
  private release: (() => void) | null = null; // releases this tab's lock
  private stored: Slide | null = null; // once the server has completed the upload

  constructor(
    readonly key: string,
    public slide: SlideToSend,
    readonly choice: UploadOptions,
    readonly order: number,
    private readonly services: TransferServices,
    private readonly onChange: () => void,
  ) {}

  /** Bytes that the server has, or that are being sent. */
  get arrived(): number {
    return sum(this.done.values()) + sum(this.moving.values());
  }

  /** Start, or continue after a pause or a failure; `slide` replaces the files with the ones that were chosen again. */
  start(slide: SlideToSend = this.slide): void {
    if (slide !== this.slide) this.digests.clear();
    this.slide = slide;
    this.attempt.abort();
    this.attempt = new AbortController();
    this.setPhase('waiting');
    void this.run(this.attempt.signal);
  }

  /** Stop sending. Parts that were being sent are sent again later. */
  stop(phase: 'paused' | 'cancelled'): void {
    this.attempt.abort();
    this.moving.clear();
    this.setPhase(phase);
  }

  /** Stop, and release the lock: another tab may continue. */
  abandon(): void {
    this.stop('paused');
    this.releaseLock();
  }

  /** Delete the upload at the server. Throws the server's error, and then stays stopped. */
  async cancel(): Promise<void> {
    this.stop('cancelled');
    try {
      await this.opening; // an upload that is being opened must be deleted too
      if (this.slideId === null) return;
      await this.services.server.abort(this.slideId);
      forget(this.slideId);
      this.onChange(); // the server's lists change only now
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }

  private async run(signal: AbortSignal): Promise<void> {
    try {
      this.stored ??= await this.sendWhole(signal);
      this.setPhase('inspecting');
      const slide = await this.waitForInspection(this.stored, signal);
      this.sentence = slide.sentence;
      this.setPhase(slide.status === 'REJECTED' ? 'rejected' : slide.status === 'DELETED' ? 'cancelled' : 'ready');
    } catch (error) {
      if (signal.aborted) return; // the caller that stopped it has set the phase
      this.fail(error);
    }
  }

  private async sendWhole(signal: AbortSignal): Promise<Slide> {
    const id = await this.services.queue.run(this.order, signal, () => this.openUpload());
    if (!this.areAllPartsSent) await this.sendMissing(id, signal);
    this.areAllPartsSent = true;
    this.setPhase('finishing');
    try {
      const slide = await this.retry(signal, () => this.services.server.complete(id, signal));
      forget(id);
      return slide;
    } catch (error) {
      this.areAllPartsSent = isTransient(error); // otherwise the server lacks parts
      throw error;
    }
  }

  private async sendMissing(id: string, signal: AbortSignal): Promise<void> {
    const { partSize, parts: held } = await this.retry(signal, () => this.services.server.listParts(id, signal));
    const sizes = this.slide.files.map(({ file }) => file.size);
    const parts = cutIntoParts(sizes, partSize);
    await this.findStoredParts(parts, held, signal);
    const missing = parts.filter((part) => !this.done.has(partKey(part)));
    await this.sendAll(id, missing, signal);
  }

  /** Open the upload at the server. A pause does not interrupt this: the server would keep an upload that nobody knows. */
  private async openUpload(): Promise<string> {
    if (this.slideId !== null) return this.slideId;
    const open = async () => {
      const before = await this.services.findUnfinished(this.slide, this.choice, new AbortController().signal);
      const id = before ?? (await this.services.server.begin(this.slide, this.choice));
      this.release = await this.services.locks.acquire(id);
      if (this.release === null) throw new LockedByOtherTab();
      remember(id);
      this.slideId = id;
      return id;
    };
    this.opening ??= open().finally(() => {
      this.opening = null;
    });
    return await this.opening;
  }

  /** Mark the parts that the server has with the same bytes. */
  private async findStoredParts(parts: readonly Part[], held: readonly StoredPart[], signal: AbortSignal): Promise<void> {
    const byKey = new Map(held.map((part) => [partKey(part), part]));
    this.done.clear();
    if (held.length > 0) this.setPhase('checking');
    for (const part of parts) {
      const stored = byKey.get(partKey(part));
      if (!hasSameSize(stored, part)) continue;
      const isThis = stored.sha256 === null || stored.sha256 === (await this.digestOf(part));
      signal.throwIfAborted();
      if (isThis) this.done.set(partKey(part), part.size);
    }
  }

  private async sendAll(id: string, parts: readonly Part[], signal: AbortSignal): Promise<void> {
    this.speedometer.restart();
    await Promise.all(
      parts.map((part) =>
        this.services.queue.run(this.order, signal, async () => {
          if (this.phase !== 'sending') this.setPhase('sending');
          const sha256 = await this.digestOf(part);
          const { file, n, size } = part;
          await this.retry(signal, async () => {
            const granted = await this.services.server.grant(id, { file, n, size, sha256 }, signal);
            await this.services.put(granted, this.sliceOf(part), this.trackProgress(partKey(part), signal), signal);
          });
          signal.throwIfAborted();
          this.moving.delete(partKey(part));
          this.done.set(partKey(part), size);
        }),
      ),
    );
  }

  private trackProgress(key: string, signal: AbortSignal): (bytes: number) => void {
    let before = 0;
    this.moving.set(key, 0);
    return (bytes) => {
      if (signal.aborted) return;
      this.sent += bytes - before;
      before = bytes;
      this.moving.set(key, bytes);
    };
  }

  private async waitForInspection(slide: Slide, signal: AbortSignal): Promise<Slide> {
    let now = slide;
    for (let look = FIRST_POLL; SLIDE_STATES[now.status].isTransient; look = Math.min(look * 1.5, SLOWEST_POLL)) {
      await this.services.pause(look, signal);
      now = await this.retry(signal, () => this.services.server.readSlide(slide.slide_id, signal));
    }
    return now;
  }

  private async digestOf(part: Part): Promise<string> {
    const held = this.digests.get(partKey(part));
    if (held !== undefined) return held;
    const digest = await this.services.digest(this.sliceOf(part));
    this.digests.set(partKey(part), digest);
    return digest;
  }

  private sliceOf({ file, start, size }: Part): Blob {
    const found = this.slide.files[file];
    if (!found) throw new Error(`The slide has no file number ${file}.`);
    return found.file.slice(start, start + size);
  }

  private retry<Value>(signal: AbortSignal, attempt: () => Promise<Value>): Promise<Value> {
    return retry(attempt, this.services.pause, signal);
  }

  private fail(error: unknown): void {
    this.attempt.abort();
    this.moving.clear();
    this.sentence = messageOf(error);
    this.isTransient = isTransient(error);
    this.setPhase('failed');
  }

  private setPhase(phase: Phase): void {
    if (phase !== 'failed' && phase !== 'rejected') this.sentence = null;
    this.phase = phase;
    if (SETTLED.includes(phase)) this.releaseLock();
    this.onChange();
  }

  private releaseLock(): void {
    this.release?.();
    this.release = null;
  }
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
