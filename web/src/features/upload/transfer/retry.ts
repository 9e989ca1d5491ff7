import { ApiProblem } from '../../../api/problem';
import { PutFailed } from './put_part';

const ATTEMPTS = 8;
const FIRST_PAUSE = 500; // ms; doubled with each attempt
const LONGEST_PAUSE = 30_000; // ms; up to 90 s in total, as long as a hospital's wireless network drops out

export type Pause = (milliseconds: number, signal: AbortSignal) => Promise<void>;

export const wait: Pause = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    signal.addEventListener('abort', stop, { once: true });
  });

/** Retry transient failures with growing pauses and full jitter, so that pages that failed together do not retry together. */
export async function retry<Value>(attempt: () => Promise<Value>, pause: Pause, signal: AbortSignal): Promise<Value> {
  for (let count = 1; ; count += 1) {
    try {
      signal.throwIfAborted();
      return await attempt();
    } catch (error) {
      if (signal.aborted || count === ATTEMPTS || !isTransient(error)) throw error;
      await pause(Math.random() * Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** count), signal);
    }
  }
}

export const isTransient = (error: unknown) => error instanceof PutFailed || (error instanceof ApiProblem && error.isTransient);
