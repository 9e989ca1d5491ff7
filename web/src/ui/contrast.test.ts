/** WCAG 2.2 AA of the tokens in both modes: text 4.5:1 (1.4.3), borders of controls and the focus 3:1 (1.4.11). */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const CSS = readFileSync('src/styles.css', 'utf8');
const TOKENS = new Map(
  [...CSS.matchAll(/--color-([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name = '', ...pair]) => [name, pair]),
);

const TEXT: [string, string][] = [
  ...['surface', 'raised', 'sunken'].flatMap((ground): [string, string][] => [
    ['ink', ground],
    ['muted', ground],
    ['accent', ground],
    ['accent-strong', ground],
  ]),
  ['on-accent', 'accent'],
  ['on-accent', 'accent-strong'],
  ...['good', 'warn', 'bad', 'busy'].map((tone): [string, string] => [tone, `${tone}-soft`]),
  ['bad', 'surface'],
  ['bad', 'raised'],
];
const BORDERS: [string, string][] = [
  ['control', 'raised'],
  ['control', 'surface'],
  ['accent', 'sunken'],
];

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = parseInt(color.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string, mode: number): number {
  const [low = 0, high = 0] = [one, other]
    .map((name) => luminance(TOKENS.get(name)?.[mode] ?? ''))
    .sort((first, second) => first - second);
  return (high + 0.05) / (low + 0.05);
}

describe.each([
  ['light', 0],
  ['dark', 1],
])('in the %s', (_, mode) => {
  it.each(TEXT)('%s on %s can be read', (text, ground) => {
    expect(contrast(text, ground, mode)).toBeGreaterThanOrEqual(4.5);
  });

  it.each(BORDERS)('%s on %s can be made out', (border, ground) => {
    expect(contrast(border, ground, mode)).toBeGreaterThanOrEqual(3);
  });
});
