interface WaitingTask {
  order: number;
  begin: () => void;
}

/** Runs at most `count` tasks at a time. The waiting task with the lowest order is next, so that slides finish one by one. */
export class TaskQueue {
  private free: number;
  private readonly waiting: WaitingTask[] = [];

  constructor(count: number) {
    this.free = count;
  }

  /** Run a task when its turn comes. Rejects with the signal's reason if that is aborted before. */
  async run<Value>(order: number, signal: AbortSignal, task: () => Promise<Value>): Promise<Value> {
    await this.waitForTurn(order, signal);
    try {
      signal.throwIfAborted();
      return await task();
    } finally {
      this.free += 1;
      this.startNext();
    }
  }

  private waitForTurn(order: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.waiting.splice(this.waiting.indexOf(mine), 1);
        reject(signal.reason as Error);
      };
      const mine: WaitingTask = {
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
      this.startNext();
    });
  }

  private startNext(): void {
    while (this.free > 0) {
      const following = this.waiting.shift();
      if (!following) return;
      this.free -= 1;
      following.begin();
    }
  }
}
