const WINDOW = 12_000; // ms that the speed is a mean of: shorter ones jump with every part
const SHORTEST = 2000; // ms before which nothing is said

/** Bytes a second, smoothed. */
export class Speedometer {
  private samples: { at: number; bytes: number }[] = [];

  /** `bytes` since the beginning; `at` in ms. */
  sample(at: number, bytes: number): void {
    this.samples.push({ at, bytes });
    while (this.samples.length > 2 && at - (this.samples[1]?.at ?? at) >= WINDOW) this.samples.shift();
  }

  /** What was before counts no more. */
  restart(): void {
    this.samples = [];
  }

  get speed(): number | null {
    const first = this.samples[0];
    const last = this.samples.at(-1);
    if (!first || !last || last.at - first.at < SHORTEST) return null;
    return ((last.bytes - first.bytes) / (last.at - first.at)) * 1000;
  }
}
