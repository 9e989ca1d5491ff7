import { matching } from './begun_before';
import type { Claims } from './claims';
import type { Digest } from './digest';
import type { SlideToSend, Stray } from './grouping';
import { Lanes } from './lanes';
import type { Pause } from './patience';
import type { Put } from './put';
import type { Choice, UploadServer } from './server';
import { Speedometer } from './speed';
import { Transfer } from './transfer';
import { type View, isEnded, isGoing, isThere, viewOf } from './view';

const PARALLEL = 4; // parts in flight over all slides, as the command line has it
const TICK = 500; // ms between two looks at how far it is

export interface Means {
  server: UploadServer;
  digest: Digest;
  put: Put;
  claims: Claims;
  pause: Pause;
  now: () => number; // ms
  /** A slide has another status at the server. */
  onSlides: () => void;
}

/** All uploads of this tab. They go on while somebody looks at other pages. */
export class Uploads {
  private transfers: readonly Transfer[] = [];
  private strays: readonly Stray[] = [];
  private view: View = viewOf([], { counted: [], strays: [], speed: null });
  private since = 0; // the first transfer of those that the total counts
  private timer: ReturnType<typeof setInterval> | null = null;
  private next = 0;
  private readonly listeners = new Set<() => void>();
  private readonly lanes = new Lanes(PARALLEL);
  private readonly oneByOne = new Lanes(1);
  private readonly speedometer = new Speedometer();

  constructor(private readonly means: Means) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** The same object until something changes. */
  readonly current = (): View => this.view;

  /** What is under way already is not sent twice; what stood still goes on with the files that were chosen again. */
  add(slides: readonly SlideToSend[], choice: Choice, strays: readonly Stray[] = []): void {
    if (!this.transfers.some(isGoing)) this.since = this.next;
    const twice: Stray[] = [];
    for (const slide of slides) {
      const same = this.transfers.find((other) => !isEnded(other) && isSame(other.slide, slide));
      if (!same) this.begin(slide, choice);
      else if (!isGoing(same)) same.start(slide);
      else twice.push({ path: slide.folder + slide.name, reason: 'It is being uploaded already.' });
    }
    this.strays = [...strays, ...twice];
    this.publish();
  }

  pause(key: string): void {
    const transfer = this.find(key);
    if (isGoing(transfer)) transfer.stop('paused');
  }

  resume(key: string): void {
    const transfer = this.find(key);
    if (!isGoing(transfer) && !isEnded(transfer)) transfer.start();
  }

  pauseAll(): void {
    for (const transfer of this.transfers) {
      if (transfer.phase !== 'finishing' && !isThere(transfer)) this.pause(transfer.key);
    }
  }

  /** Those that were paused, and with `broken` those that failed for the connection alone. */
  resumeAll({ broken = false } = {}): void {
    for (const { key, phase, mayPass } of this.transfers) {
      if (phase === 'paused' || (broken && phase === 'failed' && mayPass)) this.resume(key);
    }
  }

  /** Throws what the server says when it does not drop the upload. */
  cancel(key: string): Promise<void> {
    return this.find(key).cancel();
  }

  /** From the list; what is still under way stays. */
  remove(keys: readonly string[]): void {
    this.transfers = this.transfers.filter((transfer) => !keys.includes(transfer.key) || !isEnded(transfer));
    this.speedometer.restart();
    this.publish();
  }

  /** Uploads that some tab of this browser sends or holds, this one too. */
  taken(): Promise<ReadonlySet<string>> {
    return this.means.claims.taken();
  }

  dropStrays(): void {
    this.strays = [];
    this.publish();
  }

  /** Nothing is sent any more, for whoever comes after. */
  stop(): void {
    for (const transfer of this.transfers) transfer.leave();
    this.transfers = [];
    this.strays = [];
    this.publish();
  }

  private begin(slide: SlideToSend, choice: Choice): void {
    const order = this.next++;
    const around = {
      ...this.means,
      lanes: this.lanes,
      begunBefore: this.begunBefore,
    };
    const transfer: Transfer = new Transfer(String(order), slide, choice, order, around, () => {
      if (['inspecting', 'ready', 'rejected', 'cancelled'].includes(transfer.phase)) this.means.onSlides();
      this.publish();
    });
    this.transfers = [...this.transfers, transfer];
    transfer.start();
  }

  private readonly begunBefore = (slide: SlideToSend, choice: Choice, signal: AbortSignal) =>
    this.oneByOne.run(0, signal, () => {
      const claimed = new Set(this.transfers.flatMap(({ slideId }) => slideId ?? []));
      return matching({ ...this.means, claimed }, slide, choice, signal);
    });

  private find(key: string): Transfer {
    const found = this.transfers.find((transfer) => transfer.key === key);
    if (!found) throw new Error(`There is no upload ${key}.`);
    return found;
  }

  private publish(): void {
    const now = this.means.now();
    const sent = this.transfers.reduce((sum, transfer) => sum + transfer.sent, 0);
    if (this.view.isSending) this.speedometer.sample(now, sent);
    else this.speedometer.restart();
    for (const transfer of this.transfers) transfer.speedometer.sample(now, transfer.sent);
    const counted = this.transfers.filter((transfer) => transfer.order >= this.since || !isEnded(transfer));
    this.view = viewOf(this.transfers, { counted, strays: this.strays, speed: this.speedometer.speed });
    this.tick(this.view.isGoing);
    for (const listener of this.listeners) listener();
  }

  /** Bytes move without anybody saying so. */
  private tick(isNeeded: boolean): void {
    if (isNeeded === (this.timer !== null)) return;
    if (this.timer !== null) clearInterval(this.timer);
    const look = () => {
      this.publish();
    };
    this.timer = isNeeded ? setInterval(look, TICK) : null;
  }
}

/** The very files: series of DICOM have equal names and sizes in different folders. */
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
