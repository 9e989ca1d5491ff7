import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { makeJob, makePushedUpdate } from '../../testing/jobs';
import { type Job, SUBSCRIPTION, isFinal, parseUpdate, mergeSnapshot, mergeUpdate } from './job_update';

const STEPS: readonly Job[] = [
  makeJob({ status: 'PLANNING', version: 2, progress_seq: 0, progress: 0, tiles_inferred: 0 }),
  makeJob({ version: 3, progress_seq: 0, progress: 0, tiles_inferred: 0, waiting_for_capacity: true }),
  makeJob({ progress_seq: 1, progress: 0.1, tiles_inferred: 100 }),
  makeJob({ progress_seq: 2, progress: 0.9, tiles_inferred: 900 }),
  makeJob({ status: 'STITCHING', version: 4, progress_seq: 2, progress: 1, tiles_inferred: 1000 }),
  makeJob({ status: 'COMPLETED', version: 5, progress_seq: 2, progress: 1, tiles_inferred: 1000 }),
];

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, place) =>
    permutations(items.filter((_, other) => other !== place)).map((rest) => [item, ...rest]),
  );
}

describe('merging what is seen of a job', () => {
  const [first] = STEPS as [Job];
  const updates = STEPS.map((step) => parseUpdate(makePushedUpdate(step)));

  it('ends at the newest update seen, in any order, with any repetition', () => {
    for (const order of permutations(updates)) {
      const merged = [...order, ...order].reduce(mergeUpdate, first);
      expect(merged).toMatchObject({ status: 'COMPLETED', version: 5, tiles_inferred: 1000 });
    }
  });

  it('never goes back on the way', () => {
    for (const order of permutations(updates)) {
      let known = first;
      for (const update of order) {
        const next = mergeUpdate(known, update);
        expect(next.version * 1000 + next.progress_seq).toBeGreaterThanOrEqual(known.version * 1000 + known.progress_seq);
        known = next;
      }
    }
  });

  it('keeps the very object when an update brings nothing, so that nothing is drawn again', () => {
    const known = makeJob();
    expect(mergeUpdate(known, parseUpdate(makePushedUpdate(makeJob())))).toBe(known);
    expect(mergeUpdate(known, parseUpdate(makePushedUpdate(makeJob({ job_id: 'another', version: 9 }))))).toBe(known);
  });

  it('leaves what a push does not say, and knows that a job which moves waits for nobody', () => {
    const known = makeJob({ label: 'study 4', waiting_for_capacity: true, progress_seq: 0 });
    const merged = mergeUpdate(known, parseUpdate(makePushedUpdate(makeJob({ progress_seq: 1 }))));
    expect(merged).toMatchObject({ label: 'study 4', waiting_for_capacity: false, progress_seq: 1 });
  });

  it('drops a stale answer of the API, and takes one of the same moment for saying more', () => {
    const known = makeJob({ status: 'FAILED', version: 6, reason: 'poison_shard' });
    expect(mergeSnapshot(known, makeJob())).toBe(known);
    const snapshot = makeJob({ status: 'FAILED', version: 6, reason: 'poison_shard', sentence: 'Part 2 failed 3 times.' });
    expect(mergeSnapshot(known, snapshot)).toBe(snapshot);
    expect(mergeSnapshot(undefined, snapshot)).toBe(snapshot);
  });
});

it('subscribes to every field of the schema, which names no other', () => {
  const schema = readFileSync('../cdk/appsync/schema.graphql', 'utf8');
  const type = /type JobUpdate[^{]*\{([^}]*)\}/.exec(schema)?.[1] ?? '';
  const fields = [...type.matchAll(/^\s*(\w+):/gm)].map((found) => found[1]);
  expect(fields).toHaveLength(13);
  expect(SUBSCRIPTION).toBe(`subscription Watch($jobId: ID) { onJobUpdate(jobId: $jobId) { ${fields.join(' ')} } }`);
});

it('knows which states are final', () => {
  expect(isFinal({ status: 'STITCHING' })).toBe(false);
  expect(isFinal({ status: 'NO_TISSUE' })).toBe(true);
  expect(isFinal({ status: 'CANCELLED' })).toBe(true);
});
