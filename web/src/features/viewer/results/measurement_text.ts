/** Measurements of objects, which have their unit in their name, as people read them. */
import { formatNumber } from '../../../ui/format';

const WITH_UNIT = /^(.+?) ((?:[µμ]m|mm|px)(?:\^?2|²)?|%)$/;
const [DIGITS_OF_LENGTHS, DIGITS_OF_RATIOS] = [1, 3] as const;

/** Return "Area" and "58.3 µm²" for 58.32 of "Area µm^2". */
export function describeMeasurement(label: string, value: number): readonly [name: string, value: string] {
  const [, name, unit] = WITH_UNIT.exec(label) ?? [];
  if (name === undefined || unit === undefined) return [label, formatNumber(value, DIGITS_OF_RATIOS)];
  return [name, `${formatNumber(value, DIGITS_OF_LENGTHS)} ${unit.replace(/\^?2$/, '²')}`];
}
