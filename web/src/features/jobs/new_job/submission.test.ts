import { describe, expect, it } from 'vitest';
import { type Body, EMPTY_DRAFT, makeBody } from './draft';
import { IdempotencyKeys, type Submitted, summariseJobs, submitAll, isStarted } from './submission';
import { makeListedJob } from '../testing';

const submitted = (id: string, reused = false, shared = false): Submitted => ({
  ...makeListedJob(id),
  replayed: false,
  warnings: [],
  reused,
  shared,
});

function body(slideId: string, label = ''): Body {
  const made = makeBody({ ...EMPTY_DRAFT, model: { name: 'm', version: '1' }, label }, slideId, { needsMpp: false });
  if (made === null) throw new Error('The draft of this test has a fault.');
  return made;
}

describe('a submission', () => {
  it('has one key a wish, however often it is sent, and another one once it changed', () => {
    let made = 0;
    const keys = new IdempotencyKeys(() => `key-${++made}`);
    expect([keys.keyFor(body('a')), keys.keyFor(body('b')), keys.keyFor(body('a')), keys.keyFor(body('a', 'x'))]).toEqual([
      'key-1',
      'key-2',
      'key-1',
      'key-3',
    ]);
  });

  it('goes on when one slide is refused, and keeps their order', async () => {
    const refused = new Error('The slide is archived.');
    const outcomes = await submitAll(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => body(id)),
      (each) => (each.slide_id === 'b' ? Promise.reject(refused) : Promise.resolve(submitted(`job-${each.slide_id}`))),
    );
    expect(outcomes.map(({ slideId }) => slideId)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(outcomes.filter(isStarted)).toHaveLength(5);
    expect(outcomes[1]).toEqual({ slideId: 'b', error: refused });
  });

  it('sends few at once', async () => {
    let now = 0;
    let most = 0;
    await submitAll(
      Array.from({ length: 20 }, (_, at) => body(String(at))),
      async ({ slide_id }) => {
        most = Math.max(most, ++now);
        await Promise.resolve();
        now -= 1;
        return submitted(slide_id);
      },
    );
    expect(most).toBe(4);
  });

  it('says when an identical job is under way', () => {
    expect(summariseJobs([submitted('a', false, true)])).toMatch(/already under way/);
    expect(summariseJobs([submitted('a'), submitted('b', true), submitted('c', false, true)])).toBe(
      '1 job was started; 1 identical job had already finished; 1 identical job is already under way.',
    );
  });

  it('says when a result was there before', () => {
    expect(summariseJobs([submitted('a')])).toBe('The job was started.');
    expect(summariseJobs([submitted('a', true)])).toMatch(/had already finished/);
    expect(summariseJobs([submitted('a'), submitted('b')])).toBe('2 jobs were started.');
    expect(summariseJobs([submitted('a'), submitted('b', true)])).toBe('1 job was started; 1 identical job had already finished.');
  });
});
