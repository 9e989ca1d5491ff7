/**
 * When to ask the API of a job, and when to rely on what is pushed: docs/flow.md, client/watch.py.
 *
 * Read, subscribe, read again on `start_ack` and some seconds later (an event right after it can be lost:
 * aws-appsync-community#405), then every 30 s; every two seconds while nothing is pushed. A push that says that the job
 * has ended is followed by a read: the last word is the API's. Nobody looks at a hidden tab, so it asks for nothing.
 */
import { ApiProblem } from '../problem';
import { type JobUpdate, isFinal } from './job_update';
import type { Subscribe } from './push';

export type Link = 'connecting' | 'live' | 'polling';

/** ms */
export const PACE = {
  poll: 2000, // between reads while nothing is pushed
  reread: 30_000, // between reads while the subscription stands
  settle: 3000, // after `start_ack` until events are no longer lost
  steady: 30_000, // what a subscription must have stood for its end to be news, and no part of a series
  firstPause: 1000, // before subscribing again, doubled with each failure
  longestPause: 60_000,
} as const;

/** What the browser says of the tab and the network. */
export interface Surroundings {
  isHidden: () => boolean;
  /** Calls back when the tab was hidden or shown, or the network came back; returns what ends that. */
  listen: (changed: () => void) => () => void;
}

export const BROWSER: Surroundings = {
  isHidden: () => document.hidden,
  listen: (changed) => {
    document.addEventListener('visibilitychange', changed);
    window.addEventListener('online', changed);
    return () => {
      document.removeEventListener('visibilitychange', changed);
      window.removeEventListener('online', changed);
    };
  },
};

interface Watched {
  jobId: string;
  /** Asks the API, keeps and shows the answer or the error; whether the job has ended. Rejects as ApiClient does. */
  read: () => Promise<boolean>;
  subscribe: Subscribe | null; // null: nothing is pushed here
  onUpdate: (update: JobUpdate) => void;
  onLink: (link: Link) => void;
  around?: Surroundings;
  random?: () => number;
}

/** Watches until the API says that the job has ended, or refuses; the function returned ends it before. */
export function watch({ jobId, read, subscribe, onUpdate, onLink, around = BROWSER, random = Math.random }: Watched) {
  let isOver = false;
  let isReading = false;
  let looks = 0;
  let hasBegun = false; // with subscribing
  let isLive = false;
  let readAt = 0;
  let failures = 0; // of subscribing, in a row
  let hangUp: (() => void) | null = null;
  const timers = { read: 0, settle: 0, connect: 0 };

  function after(timer: keyof typeof timers, milliseconds: number, act: () => void): void {
    window.clearTimeout(timers[timer]);
    timers[timer] = window.setTimeout(act, milliseconds);
  }

  function look(): void {
    window.clearTimeout(timers.read);
    looks += 1;
    if (!isReading) void readAll();
  }

  /** What is on its way when somebody asks again may have been said before that. */
  async function readAll(): Promise<void> {
    isReading = true;
    for (let seen = -1; seen !== looks && !isOver; ) {
      seen = looks;
      if (await hasEnded()) stop();
    }
    isReading = false;
    readAt = Date.now();
    later();
    if (!hasBegun) connect(); // now, so that a job which has ended takes no connection
    hasBegun = true;
  }

  /** The job, or the watching: what the API refuses now it will refuse again. */
  async function hasEnded(): Promise<boolean> {
    try {
      return await read();
    } catch (error) {
      return error instanceof ApiProblem && !error.isPassing;
    }
  }

  function later(): void {
    if (isOver || around.isHidden()) return;
    after('read', isLive ? PACE.reread : PACE.poll, look);
  }

  function connect(): void {
    if (isOver || around.isHidden()) return;
    if (subscribe === null) {
      onLink('polling');
      return;
    }
    let startedAt: number | null = null;
    hangUp = subscribe(jobId, {
      started: () => {
        startedAt = Date.now();
        isLive = true;
        onLink('live');
        look();
        after('settle', PACE.settle, look);
      },
      update: (update) => {
        onUpdate(update);
        if (isFinal(update)) look();
      },
      ended: () => {
        const hasStood = startedAt !== null && Date.now() - startedAt >= PACE.steady;
        failures = hasStood ? 1 : failures + 1;
        isLive = false;
        hangUp = null;
        window.clearTimeout(timers.settle);
        onLink('polling');
        if (around.isHidden()) return; // until it is shown
        if (startedAt !== null) look(); // otherwise it polls already
        after('connect', pauseBefore(failures, random), connect);
      },
    });
  }

  function stop(): void {
    isOver = true;
    hangUp?.();
    unlisten();
    for (const timer of Object.values(timers)) window.clearTimeout(timer);
  }

  const unlisten = around.listen(() => {
    if (around.isHidden()) {
      window.clearTimeout(timers.read);
      window.clearTimeout(timers.connect);
      return;
    }
    if (hasBegun && hangUp === null) connect();
    if (isLive && Date.now() - readAt < PACE.reread) later();
    else look();
  });

  look();
  return stop;
}

/** Full jitter: pages that lost the server together do not come back together. */
export function pauseBefore(failures: number, random: () => number): number {
  return random() * Math.min(PACE.longestPause, PACE.firstPause * 2 ** (failures - 1));
}
