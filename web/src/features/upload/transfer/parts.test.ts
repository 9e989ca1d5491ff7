import { describe, expect, it } from 'vitest';
import { ApiProblem } from '../../../api/problem';
import { TaskQueue } from './concurrency';
import { cutIntoParts } from './parts';
import { retry } from './retry';
import { PutFailed } from './put_part';
import { Speedometer } from './speedometer';

const never = new AbortController().signal;

describe('parts', () => {
  it('cover every byte once, the last one shorter', () => {
    expect(cutIntoParts([10, 4], 4)).toEqual([
      { file: 0, n: 1, start: 0, size: 4 },
      { file: 0, n: 2, start: 4, size: 4 },
      { file: 0, n: 3, start: 8, size: 2 },
      { file: 1, n: 1, start: 0, size: 4 },
    ]);
    expect(cutIntoParts([5_000_000_000], 16 * 1024 * 1024)).toHaveLength(299);
  });
});

describe('lanes', () => {
  it('take the lowest order first, and drop who is no longer waiting', async () => {
    const lanes = new TaskQueue(1);
    const finished: string[] = [];
    const gone = new AbortController();
    let open = () => {};
    const opened = new Promise<void>((resolve) => (open = resolve));
    const first = lanes.run(5, never, () => opened);
    const others = [
      lanes.run(9, never, () => Promise.resolve(finished.push('late'))),
      lanes.run(7, gone.signal, () => Promise.resolve(finished.push('gone'))).catch(() => finished.push('left')),
      lanes.run(2, never, () => Promise.resolve(finished.push('early'))),
    ];
    gone.abort();
    open();
    await Promise.all([first, ...others]);
    expect(finished).toEqual(['left', 'early', 'late']);
  });

  it('go on after a task that failed', async () => {
    const lanes = new TaskQueue(1);
    await expect(lanes.run(0, never, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await lanes.run(0, never, () => Promise.resolve('next'))).toBe('next');
  });
});

describe('patience', () => {
  it('tries eight times what may pass, with longer and longer pauses, and once what may not', async () => {
    const pauses: number[] = [];
    const pause = (milliseconds: number) => Promise.resolve(void pauses.push(milliseconds));
    await expect(retry(() => Promise.reject(new PutFailed('gone')), pause, never)).rejects.toThrow('gone');
    expect(pauses).toHaveLength(7);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(30_000);
    await expect(retry(() => Promise.reject(new ApiProblem(409, 'conflict', 'no')), pause, never)).rejects.toThrow('no');
    expect(pauses).toHaveLength(7);
  });
});

describe('the speed', () => {
  it('is a mean of the last seconds, and not known at once', () => {
    const meter = new Speedometer();
    meter.sample(0, 0);
    meter.sample(1000, 50);
    expect(meter.speed).toBeNull();
    for (let second = 2; second <= 30; second += 1) meter.sample(second * 1000, second * 100);
    expect(meter.speed).toBe(100);
    meter.restart();
    expect(meter.speed).toBeNull();
  });
});
