import { sentenceOf } from '../../api/problem';
import { SLIDE_STATES } from '../../ui/statuses';
import type { Claims } from './claims';
import type { Digest } from './digest';
import type { SlideToSend } from './grouping';
import type { Lanes } from './lanes';
import { type HeldPart, type Part, keyOf, mayBe, partsOf } from './parts';
import { type Pause, mayPass, patiently } from './patience';
import type { Put } from './put';
import { forget, remember } from './remembered';
import type { Choice, Slide, UploadServer } from './server';
import { Speedometer } from './speed';

export type Phase =
  | 'waiting' // for its turn
  | 'checking' // what has arrived before
  | 'sending'
  | 'paused'
  | 'finishing'
  | 'inspecting'
  | 'ready'
  | 'rejected'
  | 'failed' // may be tried again
  | 'cancelled';

export interface Surroundings {
  server: UploadServer;
  digest: Digest;
  put: Put;
  lanes: Lanes;
  claims: Claims;
  pause: Pause;
  now: () => number; // ms
  /** An upload of this very slide that was begun before and that nobody here goes on with. */
  begunBefore: (slide: SlideToSend, choice: Choice, signal: AbortSignal) => Promise<string | null>;
}

/** Its sentence is what is shown. */
export class SentElsewhere extends Error {
  override readonly name = 'SentElsewhere';

  constructor() {
    super('It is being uploaded in another tab of this browser.');
  }
}

const SETTLED: readonly Phase[] = ['inspecting', 'ready', 'rejected', 'cancelled']; // nothing is sent any more
const FIRST_LOOK = 700; // ms before the first look at the inspection, which takes seconds
const SLOWEST_LOOK = 5000; // ms

/** One slide on its way. What it tells changes by itself; `onMove` hears of changes of phase. */
export class Transfer {
  phase: Phase = 'waiting';
  slideId: string | null = null;
  sentence: string | null = null; // why it failed or was rejected
  mayPass = false; // the failure: a matter of the connection
  sent = 0; // bytes that this tab has sent, repeats too
  readonly speedometer = new Speedometer();
  private readonly done = new Map<string, number>(); // key of a part → bytes
  private readonly moving = new Map<string, number>(); // key of a part → bytes that have left
  private readonly digests = new Map<string, string>();
  private run = new AbortController();
  private opening: Promise<string> | null = null;
  private isSent = false; // every part, so that the server may have put them together without our hearing of it
  private release: (() => void) | null = null; // of this tab's claim
  private stored: Slide | null = null; // once the server has put the parts together

  constructor(
    readonly key: string,
    public slide: SlideToSend,
    readonly choice: Choice,
    readonly order: number,
    private readonly around: Surroundings,
    private readonly onMove: () => void,
  ) {}

  /** Bytes that are with the server or on their way. */
  get arrived(): number {
    return sum(this.done.values()) + sum(this.moving.values());
  }

  /** Begins, or goes on after a pause or a failure; with `slide` its files are the ones that were chosen again. */
  start(slide: SlideToSend = this.slide): void {
    if (slide !== this.slide) this.digests.clear();
    this.slide = slide;
    this.run.abort();
    this.run = new AbortController();
    this.move('waiting');
    void this.go(this.run.signal);
  }

  /** Parts that were on their way are sent again later. */
  stop(phase: 'paused' | 'cancelled'): void {
    this.run.abort();
    this.moving.clear();
    this.move(phase);
  }

  /** This tab has no more to do with it: another one may go on. */
  leave(): void {
    this.stop('paused');
    this.letGo();
  }

  /** The server drops what has arrived. Throws what it says, after which the upload stands still. */
  async cancel(): Promise<void> {
    this.stop('cancelled');
    try {
      await this.opening; // it would be left over
      if (this.slideId === null) return;
      await this.around.server.abort(this.slideId);
      forget(this.slideId);
      this.onMove(); // the server's lists have changed only now
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }

  private async go(signal: AbortSignal): Promise<void> {
    try {
      this.stored ??= await this.sendWhole(signal);
      this.move('inspecting');
      const slide = await this.inspected(this.stored, signal);
      this.sentence = slide.sentence;
      this.move(slide.status === 'REJECTED' ? 'rejected' : slide.status === 'DELETED' ? 'cancelled' : 'ready');
    } catch (error) {
      if (signal.aborted) return; // whoever stopped it has said why
      this.fail(error);
    }
  }

  private async sendWhole(signal: AbortSignal): Promise<Slide> {
    const id = await this.around.lanes.run(this.order, signal, () => this.opened());
    if (!this.isSent) await this.sendMissing(id, signal);
    this.isSent = true;
    this.move('finishing');
    try {
      const slide = await this.patiently(signal, () => this.around.server.complete(id, signal));
      forget(id);
      return slide;
    } catch (error) {
      this.isSent = mayPass(error); // else the server lacks something
      throw error;
    }
  }

  private async sendMissing(id: string, signal: AbortSignal): Promise<void> {
    const { partSize, parts: held } = await this.patiently(signal, () => this.around.server.held(id, signal));
    const sizes = this.slide.files.map(({ file }) => file.size);
    const parts = partsOf(sizes, partSize);
    await this.compare(parts, held, signal);
    const missing = parts.filter((part) => !this.done.has(keyOf(part)));
    await this.sendAll(id, missing, signal);
  }

  /** Not broken off by a pause: the server would have begun what nobody knows of. */
  private async opened(): Promise<string> {
    if (this.slideId !== null) return this.slideId;
    const open = async () => {
      const before = await this.around.begunBefore(this.slide, this.choice, new AbortController().signal);
      const id = before ?? (await this.around.server.begin(this.slide, this.choice));
      this.release = await this.around.claims.take(id);
      if (this.release === null) throw new SentElsewhere();
      remember(id);
      this.slideId = id;
      return id;
    };
    this.opening ??= open().finally(() => {
      this.opening = null;
    });
    return await this.opening;
  }

  /** Which of the parts have arrived: those whose bytes are these. */
  private async compare(parts: readonly Part[], held: readonly HeldPart[], signal: AbortSignal): Promise<void> {
    const byKey = new Map(held.map((part) => [keyOf(part), part]));
    this.done.clear();
    if (held.length > 0) this.move('checking');
    for (const part of parts) {
      const stored = byKey.get(keyOf(part));
      if (!mayBe(stored, part)) continue;
      const isThis = stored.sha256 === null || stored.sha256 === (await this.digestOf(part));
      signal.throwIfAborted();
      if (isThis) this.done.set(keyOf(part), part.size);
    }
  }

  private async sendAll(id: string, parts: readonly Part[], signal: AbortSignal): Promise<void> {
    this.speedometer.restart();
    await Promise.all(
      parts.map((part) =>
        this.around.lanes.run(this.order, signal, async () => {
          if (this.phase !== 'sending') this.move('sending');
          const sha256 = await this.digestOf(part);
          const { file, n, size } = part;
          await this.patiently(signal, async () => {
            const granted = await this.around.server.grant(id, { file, n, size, sha256 }, signal);
            await this.around.put(granted, this.sliceOf(part), this.hear(keyOf(part), signal), signal);
          });
          signal.throwIfAborted();
          this.moving.delete(keyOf(part));
          this.done.set(keyOf(part), size);
        }),
      ),
    );
  }

  private hear(key: string, signal: AbortSignal): (bytes: number) => void {
    let before = 0;
    this.moving.set(key, 0);
    return (bytes) => {
      if (signal.aborted) return;
      this.sent += bytes - before;
      before = bytes;
      this.moving.set(key, bytes);
    };
  }

  private async inspected(slide: Slide, signal: AbortSignal): Promise<Slide> {
    let now = slide;
    for (let look = FIRST_LOOK; SLIDE_STATES[now.status].isPassing; look = Math.min(look * 1.5, SLOWEST_LOOK)) {
      await this.around.pause(look, signal);
      now = await this.patiently(signal, () => this.around.server.slide(slide.slide_id, signal));
    }
    return now;
  }

  private async digestOf(part: Part): Promise<string> {
    const held = this.digests.get(keyOf(part));
    if (held !== undefined) return held;
    const digest = await this.around.digest(this.sliceOf(part));
    this.digests.set(keyOf(part), digest);
    return digest;
  }

  private sliceOf({ file, start, size }: Part): Blob {
    const found = this.slide.files[file];
    if (!found) throw new Error(`The slide has no file number ${file}.`);
    return found.file.slice(start, start + size);
  }

  private patiently<Value>(signal: AbortSignal, attempt: () => Promise<Value>): Promise<Value> {
    return patiently(attempt, this.around.pause, signal);
  }

  private fail(error: unknown): void {
    this.run.abort();
    this.moving.clear();
    this.sentence = sentenceOf(error);
    this.mayPass = mayPass(error);
    this.move('failed');
  }

  private move(phase: Phase): void {
    if (phase !== 'failed' && phase !== 'rejected') this.sentence = null;
    this.phase = phase;
    if (SETTLED.includes(phase)) this.letGo();
    this.onMove();
  }

  private letGo(): void {
    this.release?.();
    this.release = null;
  }
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
