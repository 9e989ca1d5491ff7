import { describe, expect, it } from 'vitest';
import { makeJob } from '../../../testing/jobs';
import { describeWait, formatExpected } from './waiting';

const NOW = Date.parse('2026-11-28T12:00:00Z');

describe('what a job waits for', () => {
  it('is nothing while it is computed', () => {
    expect(describeWait(makeJob(), NOW)).toBeNull();
  });

  it('is a sentence with the time of its first tile', () => {
    const job = makeJob({ waiting_for: '12 jobs are before it', expected_start_at: '2026-11-28T12:04:10Z' });
    expect(describeWait(job, NOW)).toBe(
      '12 jobs are before it. The first tile is expected in about 4 min. You do not need to do anything.',
    );
  });

  it('names no time if none is known', () => {
    expect(describeWait(makeJob({ waiting_for: 'a worker is starting' }), NOW)).toBe(
      'A worker is starting. You do not need to do anything.',
    );
  });

  it('is told of an API that says only that the job waits', () => {
    const unknown = undefined as unknown as null; // the fields are missing
    const older = makeJob({ waiting_for_capacity: true, waiting_for: unknown, expected_start_at: unknown });
    expect(describeWait(older, NOW)).toBe('A worker is starting. You do not need to do anything.');
  });
});

describe('an expected time', () => {
  it('that is past is near', () => {
    expect(formatExpected('2026-11-28T11:00:00Z', NOW)).toBe('a few seconds');
  });

  it('that is not known is none', () => {
    expect(formatExpected(null, NOW)).toBeNull();
  });
});
