/** Loads that callers share by name. A load runs once, and is cancelled when all of its callers have left. */
export class SharedLoads<Value> {
  private readonly pending = new Map<string, PendingLoad<Value>>();

  /** Rejects with `signal`'s reason for a caller that leaves, and with the load's own error for all callers. */
  get(name: string, load: (signal: AbortSignal) => Promise<Value>, signal: AbortSignal): Promise<Value> {
    const one = this.pending.get(name) ?? this.start(name, load);
    one.waiting += 1;
    return new Promise((resolve, reject) => {
      const leave = () => {
        one.waiting -= 1;
        if (one.waiting === 0) this.cancel(name, one);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', leave, { once: true });
      one.value.then(resolve, reject).finally(() => {
        signal.removeEventListener('abort', leave);
      });
    });
  }

  private start(name: string, load: (signal: AbortSignal) => Promise<Value>): PendingLoad<Value> {
    const abort = new AbortController();
    const one: PendingLoad<Value> = { value: load(abort.signal), abort, waiting: 0 };
    this.pending.set(name, one);
    const forget = () => {
      if (this.pending.get(name) === one) this.pending.delete(name);
    };
    one.value.then(forget, forget);
    return one;
  }

  private cancel(name: string, one: PendingLoad<Value>): void {
    if (this.pending.get(name) === one) this.pending.delete(name); // the next caller starts it again
    one.abort.abort();
  }
}

interface PendingLoad<Value> {
  value: Promise<Value>;
  abort: AbortController;
  waiting: number; // callers
}
