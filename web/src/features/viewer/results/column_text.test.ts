import { expect, it } from 'vitest';
import { chooseRange, formatScore, nameColumn } from './column_text';

const COLUMN = { name: 'prob_T', low: 0, high: 1 };

it('a column is shown by its title and its unit, else by its name and bare', () => {
  expect([nameColumn(COLUMN), formatScore(0.5, COLUMN)]).toEqual(['prob_T', '0.5']);
  const titled = { ...COLUMN, title: 'Tumour', unit: 'µm' };
  expect([nameColumn(titled), formatScore(0.123456, titled)]).toEqual(['Tumour', '0.1235 µm']);
});

it('colours span the range of a column, or that of its scores where the column has none', () => {
  const scores = Float32Array.of(NaN, 3, -2, NaN, 7);
  expect(chooseRange(COLUMN, scores)).toEqual({ low: 0, high: 1 });
  const free = { ...COLUMN, has_range: false };
  expect(chooseRange(free, scores)).toEqual({ low: -2, high: 7 });
  expect(chooseRange(free, null)).toEqual({ low: 0, high: 1 });
  expect(chooseRange(free, Float32Array.of(NaN))).toEqual({ low: 0, high: 1 });
  expect(chooseRange(free, Float32Array.of(3, 3))).toEqual({ low: 3, high: 4 });
});
