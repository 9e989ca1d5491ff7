import { describe, expect, it } from 'vitest';
import { FoundObjects, packObjects } from './found_objects';
import { type Feature, parseFeatures } from './geojson';

const square = (x: number, y: number, side: number) => [[x, y], [x + side, y], [x + side, y + side], [x, y + side], [x, y]];

function feature(coordinates: unknown, properties: Feature['properties'] = {}, type = 'Polygon'): Feature {
  return { type: 'Feature', geometry: { type, coordinates }, properties };
}

/** In pieces of a few letters, as no network would be so unkind to send them. */
async function* cut(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield await Promise.resolve(text.slice(at, at + size));
}

async function all(text: string, size = 7): Promise<Feature[]> {
  const found: Feature[] = [];
  for await (const one of parseFeatures(cut(text, size))) found.push(one);
  return found;
}

async function* each(features: readonly Feature[]): AsyncGenerator<Feature> {
  for (const one of features) yield await Promise.resolve(one);
}

const found = async (...features: Feature[]) => new FoundObjects(await packObjects(each(features)));

describe('a GeoJSON that comes in pieces', () => {
  const features = [feature([square(0, 0, 4)], { classification: { name: 'a "quoted" } brace \\' } }), feature([square(9, 9, 2)])];

  it.each([1, 7, 10_000])('gives its features, cut every %i letters', async (size) => {
    const collection = JSON.stringify({ type: 'FeatureCollection', crs: { type: 'name' }, features });
    expect(await all(collection, size)).toEqual(features);
    expect(await all(JSON.stringify(features, null, 2), size)).toEqual(features);
  });

  it('holds none, or is not whole', async () => {
    expect(await all('{"type":"FeatureCollection","features":[]}')).toEqual([]);
    await expect(all('{"type":"FeatureCollection","features":[{"type":"Fea')).rejects.toThrow('incomplete');
    await expect(all('')).rejects.toThrow('incomplete');
  });
});

describe('the objects that were found', () => {
  it('are counted by class, in the colour of the file or one of ours', async () => {
    const tumour = { classification: { name: 'Tumour', color: [200, 0, 0] as const } };
    const objects = await found(feature([square(0, 0, 4)], tumour), feature([square(9, 9, 4)], tumour), feature([square(20, 0, 4)]));
    expect(objects.packed.classes).toEqual([
      { name: 'Tumour', colour: 'rgb(200 0 0)', count: 2 },
      { name: 'Object', colour: '#56b4e9', count: 1 },
    ]);
  });

  it('are the smallest at a place, and a hole is none', async () => {
    const ring = feature([square(0, 0, 100), square(20, 20, 60)], { measurements: { 'Area µm²': 12.5, name: 'x' } });
    const nucleus = feature([square(30, 30, 10)]);
    const two = feature([[square(200, 0, 10)], [square(200, 50, 10)]], {}, 'MultiPolygon');
    const objects = await found(ring, nucleus, two, feature([1, 2], {}, 'Point'));
    expect(objects.count).toBe(3);
    expect(objects.findAt(10, 50)).toMatchObject({ number: 0, measurements: [['Area µm²', 12.5]] });
    expect(objects.findAt(35, 35)).toMatchObject({ number: 1, measurements: [] });
    expect(objects.findAt(50, 50)).toBeNull();
    expect(objects.findAt(205, 55)).toMatchObject({ number: 2, box: { x: 200, y: 0, width: 10, height: 60 } });
    expect(objects.findAt(205, 30)).toBeNull();
    expect(objects.findAt(-500, 9999)).toBeNull();
  });

  it('of twenty thousand are found in sight as one by one, whatever their size', async () => {
    const seeded = (seed: number) => () => (seed = (seed * 16807) % 2147483647) / 2147483647;
    const chance = seeded(5);
    const features = Array.from({ length: 20_000 }, (_, number) =>
      feature([square(chance() * 1e5, chance() * 5e4, number % 1000 === 0 ? 2e4 : 5 + chance() * 30)]),
    );
    const objects = await found(...features);
    for (let look = 0; look < 20; look += 1) {
      const area = { x: chance() * 1e5, y: chance() * 5e4, width: 4000, height: 2000 };
      const seen: number[] = [];
      objects.forEachWithin(area, (number) => seen.push(number));
      const expected = features.flatMap((_, number) => {
        const { x, y, width, height } = objects.box(number);
        const isIn = x <= area.x + area.width && y <= area.y + area.height && x + width >= area.x && y + height >= area.y;
        return isIn ? [number] : [];
      });
      expect(seen.toSorted((one, other) => one - other)).toEqual(expected);
    }
  });

  it('may be none', async () => {
    const objects = await found();
    expect([objects.count, objects.findAt(0, 0)]).toEqual([0, null]);
  });
});
