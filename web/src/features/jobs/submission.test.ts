import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Body, EMPTY, bodyOf } from './draft';
import { money } from '../../ui/format';
import { sum, tileCount } from './estimates';
import { readDrawing } from './drawing';
import { Keys, type Submitted, newsOf, submitAll, succeeded } from './submission';
import { ESTIMATE, job } from './testing';

const submitted = (id: string, reused = false): Submitted => ({ ...job(id), replayed: false, warnings: [], reused });

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
    expect(sum([ESTIMATE, ESTIMATE])).toEqual({ tiles: 2408, shards: 4, seconds: 1440, dollars: 0.24, exact: true, warnings: [] });
    expect(sum([ESTIMATE, { ...ESTIMATE, exact: false }]).exact).toBe(false);
    const warned = { ...ESTIMATE, warnings: ['The region leaves out 1 line.'] };
    expect(sum([ESTIMATE, warned, warned]).warnings).toEqual(warned.warnings);
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
  const file = (...parts: BlobPart[]) => new File(parts, 'a.geojson');
  const gzipped = (text: string) => Uint8Array.from(gzipSync(text)); // the page's own kind of array

  it('is an object or QuPath’s list of features', async () => {
    expect(await readDrawing(file('{"type": "Polygon"}'))).toEqual({ type: 'Polygon' });
    expect(await readDrawing(file('[{"type": "Feature"}]'))).toMatchObject({ features: [{ type: 'Feature' }] });
  });

  it('is its coordinates alone: names and measurements stay here', async () => {
    const geometry = { type: 'Polygon', coordinates: [[[1, 2.5]]] };
    const exported = `\ufeff[{"type": "Feature", "id": "a", "geometry": ${JSON.stringify(geometry)},
      "properties": {"name": "Jane \\" NaN", "measurements": {"a": NaN, "b": -Infinity}}}]`;
    const read = { type: 'FeatureCollection', features: [{ type: 'Feature', geometry }] };
    expect(await readDrawing(file(exported))).toEqual(read);
    expect(await readDrawing(file(gzipped(exported)))).toEqual(read);
  });

  it('is refused with a reason', async () => {
    expect(await readDrawing(file(gzipped('{}').slice(0, 12)))).toMatch(/cannot be unpacked/);
    expect(await readDrawing(file('nonsense'))).toBe('The file is no JSON.');
    expect(await readDrawing(file('3'))).toBe('The file holds no GeoJSON.');
    const points = JSON.stringify({ type: 'Polygon', coordinates: [Array(1_000_000).fill([1, 2])] });
    expect(await readDrawing(file(points))).toMatch(/too many points/);
  });
});
