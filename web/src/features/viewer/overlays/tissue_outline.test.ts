import { expect, it } from 'vitest';
import { traceOutline } from './tissue_outline';

it('the outline of a mask runs along its border, in as few lines as it has straight parts', () => {
  const mask = ['.....', '.##..', '.##..', '.....'];
  const lines = traceOutline((x, y) => mask[y]?.[x] === '#', 5, 4);
  expect(Array.from(lines)).toEqual([1, 1, 3, 1, 1, 3, 3, 3, 1, 1, 1, 3, 3, 1, 3, 3]);
});

it('a mask that reaches the edge is closed there, and a hole has an outline of its own', () => {
  expect(traceOutline(() => true, 3, 2)).toHaveLength(4 * 4);
  expect(traceOutline((x, y) => x !== 1 || y !== 1, 3, 3)).toHaveLength(8 * 4);
});
