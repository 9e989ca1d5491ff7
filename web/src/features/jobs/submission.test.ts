import { describe, expect, it } from 'vitest';
import { type Body, EMPTY, bodyOf } from './draft';
import { money } from '../../ui/format';
import { sum, tileCount } from './estimates';
import { readDrawing } from './RegionChoice';
import { Keys, type Submitted, newsOf, submitAll, succeeded } from './submission';
import { ESTIMATE, job } from './testing';

const submitted = (id: string, reused = false): Submitted => ({ ...job(id), replayed: false, reused });

function body(slideId: string, label = ''): Body {
  const made = bodyOf({ ...EMPTY, model: { name: 'm', version: '1' }, label }, slideId, { needsMpp: false });
  if (made === null) throw new Error('The draft of this test has a fault.');
  return made;
}

describe('a submission', () => {
  it('has one key a wish, however often it is sent, and another one once it changed', () => {
    let made = 0;
    const keys = new Keys(() => `key-${++made}`);
    expect([keys.of(body('a')), keys.of(body('b')), keys.of(body('a')), keys.of(body('a', 'x'))]).toEqual([
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
    expect(outcomes.filter(succeeded)).toHaveLength(5);
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

  it('says when a result was there before', () => {
    expect(newsOf([submitted('a')])).toBe('The job was started.');
    expect(newsOf([submitted('a', true)])).toMatch(/had finished/);
    expect(newsOf([submitted('a'), submitted('b')])).toBe('2 jobs were started.');
    expect(newsOf([submitted('a'), submitted('b', true)])).toMatch(/^1 job was started; of the other 1 an equal one had finished/);
  });
});

describe('estimates', () => {
  it('add up, and are exact only where all are', () => {
    expect(sum([ESTIMATE, ESTIMATE])).toEqual({ tiles: 2408, shards: 4, seconds: 1440, dollars: 0.24, exact: true });
    expect(sum([ESTIMATE, { ...ESTIMATE, exact: false }]).exact).toBe(false);
  });

  it('round what is a near count, and no exact one', () => {
    expect(tileCount(ESTIMATE)).toBe('1,204');
    expect(tileCount({ ...ESTIMATE, exact: false })).toBe('about 1,200');
  });

  it('name amounts as people do', () => {
    expect([0, 0.004, 0.126, 12].map(money)).toEqual(['$0', 'less than $0.01', '$0.13', '$12.00']);
  });
});

describe('a drawing', () => {
  const file = (text: string) => new File([text], 'a.geojson');

  it('is an object or QuPath’s list of features', async () => {
    expect(await readDrawing(file('{"type": "Polygon"}'))).toEqual({ type: 'Polygon' });
    expect(await readDrawing(file('[{"type": "Feature"}]'))).toMatchObject({ features: [{ type: 'Feature' }] });
  });

  it('is refused with a reason', async () => {
    expect(await readDrawing(file('nonsense'))).toBe('The file is no JSON.');
    expect(await readDrawing(file('3'))).toBe('The file holds no GeoJSON.');
    expect(await readDrawing(file(' '.repeat(5_000_001)))).toMatch(/larger than 5 MB/);
  });
});
