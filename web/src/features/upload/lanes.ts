interface Waiting {
  order: number;
  begin: () => void;
}

/** So many tasks at a time; of those that wait the one with the lowest order is next, so that slides end one by one. */
export class Lanes {
  private free: number;
  private readonly waiting: Waiting[] = [];

  constructor(count: number) {
    this.free = count;
  }

  /** Rejects with the signal's reason when that is aborted before the task's turn. */
  async run<Value>(order: number, signal: AbortSignal, task: () => Promise<Value>): Promise<Value> {
    await this.turn(order, signal);
    try {
      signal.throwIfAborted();
      return await task();
    } finally {
      this.free += 1;
      this.next();
    }
  }

  private turn(order: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.waiting.splice(this.waiting.indexOf(mine), 1);
        reject(signal.reason as Error);
      };
      const mine: Waiting = {
        order,
        begin: () => {
          signal.removeEventListener('abort', leave);
          resolve();
        },
      };
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      signal.addEventListener('abort', leave, { once: true });
      const place = this.waiting.findIndex((other) => other.order > order);
      this.waiting.splice(place < 0 ? this.waiting.length : place, 0, mine);
      this.next();
    });
  }

  private next(): void {
    while (this.free > 0) {
      const following = this.waiting.shift();
      if (!following) return;
      this.free -= 1;
      following.begin();
    }
  }
}
