import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { makeJob } from '../../testing/jobs';
import { ApiProblem, UNREACHABLE } from '../problem';
import type { Job } from './job_update';
import type { SubscriptionCallbacks } from './push';
import { type Link, INTERVALS, type BrowserEvents, drawPause, watchJob } from './watch';

/** A server that pushes when the test says so. */
class Server {
  hearing: SubscriptionCallbacks | null = null;
  connections = 0;
  reads = 0;
  links: Link[] = [];
  answers: (() => Promise<boolean>)[] = [];

  readonly subscribe = (_: string, hearing: SubscriptionCallbacks) => {
    this.connections += 1;
    this.hearing = hearing;
    return () => {
      this.hearing = null;
    };
  };

  readonly read = (): Promise<boolean> => {
    this.reads += 1;
    return this.answers.shift()?.() ?? Promise.resolve(false);
  };

  drop(): void {
    const { hearing } = this;
    this.hearing = null;
    hearing?.ended();
  }
}

class Tab implements BrowserEvents {
  private hidden = false;
  private readonly listeners = new Set<() => void>();
  readonly isHidden = () => this.hidden;
  readonly listen = (changed: () => void) => {
    this.listeners.add(changed);
    return () => this.listeners.delete(changed);
  };

  turn(hidden: boolean): void {
    this.hidden = hidden;
    for (const changed of this.listeners) changed();
  }

  get isLeftAlone(): boolean {
    return this.listeners.size === 0;
  }
}

const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

async function begun({ pushes = true, random = (): number => 0.5 } = {}) {
  const server = new Server();
  const tab = new Tab();
  const seen: Job['status'][] = [];
  const stop = watchJob({
    jobId: 'job-1',
    read: server.read,
    subscribe: pushes ? server.subscribe : null,
    onUpdate: ({ status }) => seen.push(status),
    onLink: (link) => server.links.push(link),
    browser: tab,
    random,
  });
  await pass(0);
  return { server, tab, seen, stop };
}

async function live() {
  const all = await begun();
  all.server.hearing?.started();
  await pass(0);
  return all;
}

describe('watching a job', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('reads, subscribes, reads again when that stands and once more when no event is lost any longer', async () => {
    const { server } = await begun();
    expect(server).toMatchObject({ reads: 1, connections: 1, links: [] });
    server.hearing?.started();
    await pass(0);
    expect(server).toMatchObject({ reads: 2, links: ['live'] });
    await pass(INTERVALS.settle);
    expect(server.reads).toBe(3);
  });

  it('asks every half minute while the subscription stands, however much is pushed', async () => {
    const { server, seen } = await live();
    await pass(INTERVALS.settle);
    for (let second = 0; second < 29; second++) {
      server.hearing?.update(makeJob({ progress_seq: second }));
      await pass(1000);
    }
    expect(server.reads).toBe(3);
    expect(seen).toHaveLength(29);
    await pass(1000);
    expect(server.reads).toBe(4);
  });

  it('has the last word from the API, and then leaves everything', async () => {
    const { server, tab } = await live();
    server.answers = [() => Promise.resolve(true)];
    server.hearing?.update(makeJob({ status: 'COMPLETED' }));
    await pass(0);
    expect(server).toMatchObject({ reads: 3, hearing: null });
    expect(tab.isLeftAlone).toBe(true);
    await pass(120_000);
    expect(server.reads).toBe(3);
  });

  it('opens no connection for a job that has ended', async () => {
    const server = new Server();
    server.answers = [() => Promise.resolve(true)];
    const { read, subscribe } = server;
    watchJob({ jobId: 'job-1', read, subscribe, onUpdate: vi.fn(), onLink: vi.fn(), browser: new Tab() });
    await pass(60_000);
    expect(server).toMatchObject({ reads: 1, connections: 0 });
  });

  it('polls while it cannot subscribe, and stops polling when it can', async () => {
    const { server } = await begun();
    server.drop();
    await pass(0);
    expect(server.links).toEqual(['polling']);
    const before = server.reads;
    await pass(INTERVALS.firstPause / 2 - 1);
    expect(server.connections).toBe(1);
    await pass(1);
    expect(server.connections).toBe(2);
    await pass(INTERVALS.poll * 3);
    expect(server.reads - before).toBe(3);
    server.hearing?.started();
    await pass(INTERVALS.settle);
    const then = server.reads;
    await pass(20_000);
    expect(server.reads).toBe(then);
    expect(server.links).toEqual(['polling', 'live']);
  });

  it('waits longer with each failure, and begins anew after a connection that stood', async () => {
    const { server } = await begun({ random: () => 1 });
    for (const pause of [1000, 2000, 4000, 8000]) {
      const { connections } = server;
      server.drop();
      await pass(pause - 1);
      expect(server.connections).toBe(connections);
      await pass(1);
      expect(server.connections).toBe(connections + 1);
    }
    server.hearing?.started();
    await pass(INTERVALS.steady);
    const { connections } = server;
    server.drop();
    await pass(INTERVALS.firstPause);
    expect(server.connections).toBe(connections + 1);
  });

  it('does not take a server that admits and drops at once for a steady one', async () => {
    const { server } = await begun({ random: () => 1 });
    for (const pause of [1000, 2000, 4000]) {
      server.hearing?.started();
      server.drop();
      const { connections } = server;
      await pass(pause - 1);
      expect(server.connections).toBe(connections);
      await pass(1);
    }
  });

  it('polls at one pace, however often it tries to subscribe', async () => {
    const { server } = await begun({ random: () => 0.1 });
    for (let tried = 0; tried < 4; tried += 1) {
      server.drop();
      await pass(INTERVALS.poll / 4);
    }
    expect(server).toMatchObject({ connections: 4, reads: 2 });
  });

  it('polls where nothing is pushed', async () => {
    const { server } = await begun({ pushes: false });
    await pass(INTERVALS.poll * 5);
    expect(server).toMatchObject({ reads: 6, links: ['polling'] });
  });

  it('asks for nothing while nobody looks, and catches up when somebody does', async () => {
    const { server, tab } = await begun({ pushes: false });
    tab.turn(true);
    await pass(600_000);
    expect(server.reads).toBe(1);
    tab.turn(false);
    await pass(0);
    expect(server.reads).toBe(2);
  });

  it('hears the end in a hidden tab, where it neither polls nor subscribes again', async () => {
    const { server, tab, seen } = await live();
    tab.turn(true);
    await pass(600_000);
    const { reads } = server;
    expect(reads).toBeLessThanOrEqual(3); // the one that settles the subscription
    server.hearing?.update(makeJob({ status: 'STITCHING', version: 4 }));
    server.drop();
    await pass(600_000);
    expect(server).toMatchObject({ reads, connections: 1 });
    expect(seen).toEqual(['STITCHING']);
    tab.turn(false);
    await pass(0);
    expect(server).toMatchObject({ reads: reads + 1, connections: 2 });
  });

  it('does not ask at each glance while the subscription stands', async () => {
    const { server, tab } = await live();
    await pass(INTERVALS.settle);
    tab.turn(true);
    tab.turn(false);
    await pass(1000);
    expect(server.reads).toBe(3);
  });

  it('asks again when it was told of news during a read, since that may have been answered before', async () => {
    const { server } = await begun();
    let answer: (isFinal: boolean) => void = () => undefined;
    server.answers = [() => new Promise((resolve) => (answer = resolve)), () => Promise.resolve(true)];
    server.hearing?.started();
    server.hearing?.update(makeJob({ status: 'FAILED' }));
    await pass(0);
    expect(server.reads).toBe(2);
    answer(false);
    await pass(0);
    expect(server).toMatchObject({ reads: 3, hearing: null });
  });

  it('goes on when the API is away, and ends when the API refuses', async () => {
    const { server, tab } = await live();
    await pass(INTERVALS.settle);
    server.answers = [
      () => Promise.reject(UNREACHABLE),
      () => Promise.reject(new ApiProblem(404, 'not_found', 'There is no job with this id.')),
    ];
    await pass(INTERVALS.reread);
    expect(tab.isLeftAlone).toBe(false);
    await pass(INTERVALS.reread);
    expect(tab.isLeftAlone).toBe(true);
  });

  it('ends when it is told to', async () => {
    const { server, tab, stop } = await live();
    stop();
    await pass(120_000);
    expect(server).toMatchObject({ reads: 2, hearing: null });
    expect(tab.isLeftAlone).toBe(true);
  });
});

it('waits at most a minute, anywhere between nothing and all of it', () => {
  expect(drawPause(20, () => 1)).toBe(60_000);
  expect(drawPause(20, () => 0)).toBe(0);
});
