/**
 * Decides when to read a job from the API, and when to rely on pushed updates: docs/explanation/flow.md, tessera/api/watch.py.
 *
 * Read, subscribe, read again on `start_ack` and some seconds later (an event right after it can be lost:
 * aws-appsync-community#405), then every 30 s; every two seconds while nothing is pushed. A push that reports the job's
 * end is followed by a read, since the API's answer is final. A hidden tab reads nothing.
 */
import { ApiProblem } from '../problem';
import { type JobUpdate, isFinal } from './job_update';
import type { Subscribe } from './push';

export type Link = 'connecting' | 'live' | 'polling';

/** Intervals in ms. */
export const INTERVALS = {
  poll: 2000, // between reads while nothing is pushed
  reread: 30_000, // between reads while the subscription is active
  settle: 3000, // after `start_ack` until events are no longer lost
  steady: 30_000, // after a subscription of this length, the pauses start again from the first
  firstPause: 1000, // before subscribing again, doubled with each failure
  longestPause: 60_000,
} as const;

/** What the browser reports about the tab and the network. */
export interface BrowserEvents {
  isHidden: () => boolean;
  /** Calls `changed` when the tab is hidden or shown, or the network is back. Returns a function that stops listening. */
  listen: (changed: () => void) => () => void;
}

export const BROWSER_EVENTS: BrowserEvents = {
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

interface WatchOptions {
  jobId: string;
  /** Reads the job, shows the answer or the error, and returns whether the job has ended. Rejects like ApiClient. */
  read: () => Promise<boolean>;
  subscribe: Subscribe | null; // null: nothing is pushed here
  onUpdate: (update: JobUpdate) => void;
  onLink: (link: Link) => void;
  browser?: BrowserEvents;
  random?: () => number;
}

/** Watch a job until the API reports its end, or refuses. Return a function that stops watching. */
export function watchJob({ jobId, read, subscribe, onUpdate, onLink, browser = BROWSER_EVENTS, random = Math.random }: WatchOptions) {
  let isOver = false;
  let isReading = false;
  let requests = 0;
  let hasSubscribed = false;
  let isLive = false;
  let readAt = 0;
  let failures = 0; // failed subscriptions in a row
  let hangUp: (() => void) | null = null;
  const timers = { read: 0, settle: 0, connect: 0 };

  function after(timer: keyof typeof timers, milliseconds: number, act: () => void): void {
    window.clearTimeout(timers[timer]);
    timers[timer] = window.setTimeout(act, milliseconds);
  }

  function requestRead(): void {
    window.clearTimeout(timers.read);
    requests += 1;
    if (!isReading) void readAll();
  }

  /** Read until no further read was requested: an answer that was on its way may be older than the request. */
  async function readAll(): Promise<void> {
    isReading = true;
    for (let seen = -1; seen !== requests && !isOver; ) {
      seen = requests;
      if (await hasEnded()) stop();
    }
    isReading = false;
    readAt = Date.now();
    scheduleRead();
    if (!hasSubscribed) connect(); // after the first read, so that a job that has ended needs no connection
    hasSubscribed = true;
  }

  /** Whether to stop watching: the job has ended, or the API refuses it for good. */
  async function hasEnded(): Promise<boolean> {
    try {
      return await read();
    } catch (error) {
      return error instanceof ApiProblem && !error.isTransient;
    }
  }

  function scheduleRead(): void {
    if (isOver || browser.isHidden()) return;
    after('read', isLive ? INTERVALS.reread : INTERVALS.poll, requestRead);
  }

  function connect(): void {
    if (isOver || browser.isHidden()) return;
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
        requestRead();
        after('settle', INTERVALS.settle, requestRead);
      },
      update: (update) => {
        onUpdate(update);
        if (isFinal(update)) requestRead();
      },
      ended: () => {
        const hasStood = startedAt !== null && Date.now() - startedAt >= INTERVALS.steady;
        failures = hasStood ? 1 : failures + 1;
        isLive = false;
        hangUp = null;
        window.clearTimeout(timers.settle);
        onLink('polling');
        if (browser.isHidden()) return; // until the tab is shown
        if (startedAt !== null) requestRead(); // otherwise it is polling already
        after('connect', drawPause(failures, random), connect);
      },
    });
  }

  function stop(): void {
    isOver = true;
    hangUp?.();
    unlisten();
    for (const timer of Object.values(timers)) window.clearTimeout(timer);
  }

  const unlisten = browser.listen(() => {
    if (browser.isHidden()) {
      window.clearTimeout(timers.read);
      window.clearTimeout(timers.connect);
      return;
    }
    if (hasSubscribed && hangUp === null) connect();
    if (isLive && Date.now() - readAt < INTERVALS.reread) scheduleRead();
    else requestRead();
  });

  requestRead();
  return stop;
}

/** Draw a pause with full jitter: pages that lost the server together do not return together. */
export function drawPause(failures: number, random: () => number): number {
  return random() * Math.min(INTERVALS.longestPause, INTERVALS.firstPause * 2 ** (failures - 1));
}
