import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readDrawnRegion } from './drawn_region';

describe('a drawing', () => {
  const file = (...parts: BlobPart[]) => new File(parts, 'a.geojson');
  const gzipped = (text: string) => Uint8Array.from(gzipSync(text)); // the page's own kind of array

  it('is an object or QuPath’s list of features', async () => {
    expect(await readDrawnRegion(file('{"type": "Polygon"}'))).toEqual({ type: 'Polygon' });
    expect(await readDrawnRegion(file('[{"type": "Feature"}]'))).toMatchObject({ features: [{ type: 'Feature' }] });
  });

  it('is its coordinates alone: names and measurements stay here', async () => {
    const geometry = { type: 'Polygon', coordinates: [[[1, 2.5]]] };
    const exported = `\ufeff[{"type": "Feature", "id": "a", "geometry": ${JSON.stringify(geometry)},
      "properties": {"name": "Jane \\" NaN", "measurements": {"a": NaN, "b": -Infinity}}}]`;
    const read = { type: 'FeatureCollection', features: [{ type: 'Feature', geometry }] };
    expect(await readDrawnRegion(file(exported))).toEqual(read);
    expect(await readDrawnRegion(file(gzipped(exported)))).toEqual(read);
  });

  it('is refused with a reason', async () => {
    expect(await readDrawnRegion(file(gzipped('{}').slice(0, 12)))).toMatch(/cannot be unpacked/);
    expect(await readDrawnRegion(file('nonsense'))).toBe('The file is not JSON.');
    expect(await readDrawnRegion(file('3'))).toBe('The file contains no GeoJSON.');
    const points = JSON.stringify({ type: 'Polygon', coordinates: [Array(1_000_000).fill([1, 2])] });
    expect(await readDrawnRegion(file(points))).toMatch(/too many points/);
  });
});
