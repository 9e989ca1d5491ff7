/** Loads by name, each once however many wait for it; it ends when all of them have left. */
export class SharedLoads<Value> {
  private readonly going = new Map<string, Going<Value>>();

  /** Rejects with `signal`'s reason for who leaves; with the load's own error for all. */
  get(name: string, load: (signal: AbortSignal) => Promise<Value>, signal: AbortSignal): Promise<Value> {
    const one = this.going.get(name) ?? this.begin(name, load);
    one.waiting += 1;
    return new Promise((resolve, reject) => {
      const leave = () => {
        one.waiting -= 1;
        if (one.waiting === 0) this.end(name, one);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', leave, { once: true });
      one.value.then(resolve, reject).finally(() => {
        signal.removeEventListener('abort', leave);
      });
    });
  }

  private begin(name: string, load: (signal: AbortSignal) => Promise<Value>): Going<Value> {
    const leaving = new AbortController();
    const one: Going<Value> = { value: load(leaving.signal), leaving, waiting: 0 };
    this.going.set(name, one);
    const forget = () => {
      if (this.going.get(name) === one) this.going.delete(name);
    };
    one.value.then(forget, forget);
    return one;
  }

  private end(name: string, one: Going<Value>): void {
    if (this.going.get(name) === one) this.going.delete(name); // who comes now begins it anew
    one.leaving.abort();
  }
}

interface Going<Value> {
  value: Promise<Value>;
  leaving: AbortController;
  waiting: number; // who wants it
}
