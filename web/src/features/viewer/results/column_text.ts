/** A model's columns and their scores, as people read them. */
import { formatNumber } from '../../../ui/format';
import type { Column } from './tile_scores';

/** Return a column's title, else its name in tiles.csv. */
export const nameColumn = ({ title, name }: Column): string => title || name;

export function formatScore(value: number, { unit }: Column, digits = 4): string {
  const number = formatNumber(value, digits);
  return unit ? `${number} ${unit}` : number;
}

export interface Range {
  low: number;
  high: number;
}

/** Return the range that colours span: the column's, or that of its scores where the column's means nothing. */
export function chooseRange({ low, high, has_range }: Column, values: Float32Array | null): Range {
  if (has_range !== false || values === null) return { low, high };
  let [least, most] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < least) least = value; // never true of NaN: no score
    if (value > most) most = value;
  }
  if (least > most) return { low, high };
  return least < most ? { low: least, high: most } : { low: least, high: least + 1 };
}
