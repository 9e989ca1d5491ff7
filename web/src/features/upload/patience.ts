import { ApiProblem } from '../../api/problem';
import { PutFailed } from './put';

const ATTEMPTS = 8;
const FIRST_PAUSE = 500; // ms; doubled with each attempt
const LONGEST_PAUSE = 30_000; // ms; in all up to a minute and a half, as long as a hospital's wireless network is away

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

/** Tries again what may succeed in a while. Full jitter, so that pages that failed together do not come back together. */
export async function patiently<Value>(attempt: () => Promise<Value>, pause: Pause, signal: AbortSignal): Promise<Value> {
  for (let count = 1; ; count += 1) {
    try {
      signal.throwIfAborted();
      return await attempt();
    } catch (error) {
      if (signal.aborted || count === ATTEMPTS || !mayPass(error)) throw error;
      await pause(Math.random() * Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** count), signal);
    }
  }
}

export const mayPass = (error: unknown) => error instanceof PutFailed || (error instanceof ApiProblem && error.isPassing);
