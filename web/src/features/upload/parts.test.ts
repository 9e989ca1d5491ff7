import { describe, expect, it } from 'vitest';
import { ApiProblem } from '../../api/problem';
import { NOTHING_TYPED, statedIn } from '../../ui/stated';
import { Lanes } from './lanes';
import { partsOf } from './parts';
import { patiently } from './patience';
import { PutFailed } from './put';
import { NO_CHOICE } from './server';
import { Speedometer } from './speed';
import { chosen, progressOf } from './words';

const never = new AbortController().signal;

describe('parts', () => {
  it('cover every byte once, the last one shorter', () => {
    expect(partsOf([10, 4], 4)).toEqual([
      { file: 0, n: 1, start: 0, size: 4 },
      { file: 0, n: 2, start: 4, size: 4 },
      { file: 0, n: 3, start: 8, size: 2 },
      { file: 1, n: 1, start: 0, size: 4 },
    ]);
    expect(partsOf([5_000_000_000], 16 * 1024 * 1024)).toHaveLength(299);
  });
});

describe('lanes', () => {
  it('take the lowest order first, and drop who is no longer waiting', async () => {
    const lanes = new Lanes(1);
    const told: string[] = [];
    const gone = new AbortController();
    let open = () => {};
    const opened = new Promise<void>((resolve) => (open = resolve));
    const first = lanes.run(5, never, () => opened);
    const others = [
      lanes.run(9, never, () => Promise.resolve(told.push('late'))),
      lanes.run(7, gone.signal, () => Promise.resolve(told.push('gone'))).catch(() => told.push('left')),
      lanes.run(2, never, () => Promise.resolve(told.push('early'))),
    ];
    gone.abort();
    open();
    await Promise.all([first, ...others]);
    expect(told).toEqual(['left', 'early', 'late']);
  });

  it('go on after a task that failed', async () => {
    const lanes = new Lanes(1);
    await expect(lanes.run(0, never, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await lanes.run(0, never, () => Promise.resolve('next'))).toBe('next');
  });
});

describe('patience', () => {
  it('tries eight times what may pass, with longer and longer pauses, and once what may not', async () => {
    const pauses: number[] = [];
    const pause = (milliseconds: number) => Promise.resolve(void pauses.push(milliseconds));
    await expect(patiently(() => Promise.reject(new PutFailed('gone')), pause, never)).rejects.toThrow('gone');
    expect(pauses).toHaveLength(7);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(30_000);
    await expect(patiently(() => Promise.reject(new ApiProblem(409, 'conflict', 'no')), pause, never)).rejects.toThrow('no');
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

  it('is told with the time left', () => {
    expect(progressOf({ arrived: 1.2e9, size: 3.2e9, speed: 45e6 })).toBe('1.2 GB of 3.2 GB · 45 MB/s · 44 s left');
    expect(progressOf({ arrived: 1.2e9, size: 3.2e9, speed: null })).toBe('1.2 GB of 3.2 GB');
    expect(progressOf({ arrived: 1.2e9, size: 3.2e9, speed: 0 })).toBe('1.2 GB of 3.2 GB');
  });
});

describe('the advanced fields', () => {
  it('are read as people type them', () => {
    const { stated } = statedIn({ mpp: ' 0,25 ', opticalPath: '1', focalPlane: '3', picture: '2' });
    expect(stated).toEqual({ mpp: 0.25, opticalPath: '1', focalPlane: 3, picture: 2 });
    expect(chosen({ ...NO_CHOICE, ...stated })).toBe('0.25 µm a pixel, optical path 1, focal plane 3, image 2');
    expect(statedIn(NOTHING_TYPED)).toEqual({ stated: { mpp: null, opticalPath: null, focalPlane: null, picture: null }, wrong: {} });
  });

  it('are refused with what would be right', () => {
    expect(statedIn({ mpp: '40x', opticalPath: '', focalPlane: '0', picture: '1.5' }).wrong).toEqual({
      mpp: 'Give microns a pixel, such as 0.25.',
      focalPlane: 'Give a whole number from 1.',
      picture: 'Give a whole number from 1.',
    });
  });
});
