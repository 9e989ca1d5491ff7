import { describe, expect, it } from 'vitest';
import { COLOUR_MAPS, type Rgb, STEPS, makeColourTable } from './colour_maps';

/** CIE L* of an sRGB colour. */
function lightness([red, green, blue]: Rgb): number {
  const linear = [red, green, blue].map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  const [r = 0, g = 0, b = 0] = linear;
  const y = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return y > 0.008856 ? 116 * Math.cbrt(y) - 16 : 903.3 * y;
}

describe.each(COLOUR_MAPS)('the colour map %s', (map) => {
  const table = makeColourTable(map);

  it('has a colour for each step', () => {
    expect(table).toHaveLength(STEPS);
    expect(table.flat().every((value) => Number.isInteger(value) && value >= 0 && value <= 255)).toBe(true);
  });

  it('grows lighter from low to high in even steps, so that it is read without seeing hues', () => {
    const steps = table.slice(1).map((colour, place) => lightness(colour) - lightness(table[place] ?? colour));
    const middle = steps.slice(16, -16); // magma begins at black, where L* bends
    const mean = middle.reduce((sum, step) => sum + step, 0) / middle.length;
    expect(mean).toBeGreaterThan(0.2);
    for (let at = 0; at + 16 < middle.length; at += 16) {
      const block = middle.slice(at, at + 16).reduce((sum, step) => sum + step, 0) / 16;
      expect(block / mean).toBeGreaterThan(0.5);
      expect(block / mean).toBeLessThan(1.6);
    }
  });
});

it('begins and ends where matplotlib does', () => {
  expect([makeColourTable('viridis')[0], makeColourTable('viridis')[255]]).toEqual([[0x44, 0x01, 0x54], [0xfd, 0xe7, 0x25]]);
  expect([makeColourTable('cividis')[0], makeColourTable('cividis')[255]]).toEqual([[0x00, 0x22, 0x4e], [0xfe, 0xe8, 0x38]]);
  expect(makeColourTable('magma')[255]).toEqual([0xfc, 0xfd, 0xbf]);
});
