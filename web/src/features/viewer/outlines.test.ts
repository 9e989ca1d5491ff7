import { expect, it } from 'vitest';
import { ringsIn } from './outlines';
import { outlineOf } from './tissue';

it('the outline of a mask runs along its border, in as few lines as it has straight parts', () => {
  const mask = ['.....', '.##..', '.##..', '.....'];
  const lines = outlineOf((x, y) => mask[y]?.[x] === '#', 5, 4);
  expect(Array.from(lines)).toEqual([1, 1, 3, 1, 1, 3, 3, 3, 1, 1, 1, 3, 3, 1, 3, 3]);
});

it('a mask that reaches the edge is closed there, and a hole has an outline of its own', () => {
  expect(outlineOf(() => true, 3, 2)).toHaveLength(4 * 4);
  expect(outlineOf((x, y) => x !== 1 || y !== 1, 3, 3)).toHaveLength(8 * 4);
});

it('polygons of a GeoJSON give their rings, and what has no area gives none', () => {
  const ring = [[0, 0], [4, 0], [4, 4], [0, 0]];
  const features = [
    { geometry: { type: 'Polygon', coordinates: [ring, ring] } },
    { geometry: { type: 'MultiPolygon', coordinates: [[ring], [ring]] } },
    { geometry: { type: 'Point', coordinates: [1, 2] } },
    { geometry: null },
  ];
  expect(ringsIn({ features })).toHaveLength(4);
  expect(ringsIn({})).toEqual([]);
});
