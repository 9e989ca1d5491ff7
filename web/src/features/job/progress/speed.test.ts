import { describe, expect, it } from 'vitest';
import { makeJob } from '../../../testing/jobs';
import { UNKNOWN_SPEED, formatTimeLeft, estimateSecondsLeft, updateSpeed } from './speed';

const report = (progress_seq: number, tiles_per_second: number | null) => makeJob({ progress_seq, tiles_per_second });

describe('how fast it goes', () => {
  it('is the mean of the first reports, and says no time before the third', () => {
    const first = updateSpeed(UNKNOWN_SPEED, report(1, 10), 1000);
    expect(first.rate).toBe(10);
    const second = updateSpeed(first, report(2, 20), 2000);
    expect(second.rate).toBe(15);
    expect(estimateSecondsLeft(second, report(2, 20), 2000)).toBeNull();
    const third = updateSpeed(second, report(3, 30), 3000);
    expect(third.rate).toBe(20);
    expect(estimateSecondsLeft(third, report(3, 30), 3000)).toBe(600 / 20);
  });

  it('follows a change that lasts', () => {
    let speed = updateSpeed(UNKNOWN_SPEED, report(0, 100), 0);
    for (let second = 1; second <= 60; second++) speed = updateSpeed(speed, report(second, 20), second * 1000);
    expect(speed.rate).toBeCloseTo(20, 0);
  });

  it('takes the same moment for no news', () => {
    const speed = updateSpeed(UNKNOWN_SPEED, report(1, 100), 1000);
    expect(updateSpeed(speed, report(1, 100), 3000)).toBe(speed);
  });

  it('is forgotten after a minute of silence', () => {
    const third = [1, 2, 3].reduce((speed, seq) => updateSpeed(speed, report(seq, 100), seq * 1000), UNKNOWN_SPEED);
    expect(estimateSecondsLeft(third, report(3, 100), 62_999)).not.toBeNull();
    expect(estimateSecondsLeft(third, report(3, 100), 63_000)).toBeNull();
    expect(updateSpeed(third, report(4, 10), 90_000)).toMatchObject({ rate: 10, reports: 1 });
  });

  it('is none while nothing runs', () => {
    expect(updateSpeed(UNKNOWN_SPEED, makeJob({ status: 'STITCHING', version: 4 }), 0).rate).toBeNull();
    expect(updateSpeed(UNKNOWN_SPEED, report(1, null), 0).rate).toBeNull();
  });
});

it.each([
  [3, 'a few seconds'],
  [31, 'about 40 s'],
  [58, 'about 1 min'],
  [250, 'about 4 min'],
  [1300, 'about 20 min'],
  [3590, 'about 1 h 0 min'],
  [8000, 'about 2 h 15 min'],
])('%d s are %s', (seconds, words) => {
  expect(formatTimeLeft(seconds)).toBe(words);
});
