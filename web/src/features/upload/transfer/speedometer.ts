const WINDOW = 12_000; // ms over which the speed is averaged: a shorter window jumps with every part
const SHORTEST = 2000; // ms before a speed is reported

/** Measures bytes per second, smoothed. */
export class Speedometer {
  private samples: { at: number; bytes: number }[] = [];

  /** Record the total of `bytes` sent until `at`, in ms. */
  sample(at: number, bytes: number): void {
    this.samples.push({ at, bytes });
    while (this.samples.length > 2 && at - (this.samples[1]?.at ?? at) >= WINDOW) this.samples.shift();
  }

  /** Forget all samples. */
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
