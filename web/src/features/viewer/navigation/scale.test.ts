import { expect, it } from 'vitest';
import { formatMagnification, fitScaleBar } from './scale';

it.each([
  [0.25, '20 µm', 80],
  [0.5, '50 µm', 100],
  [1, '100 µm', 100],
  [7.9, '1 mm', 126.6],
  [63, '10 mm', 158.7],
  [0.05, '5 µm', 100],
  [0.001, '0.1 µm', 100],
])('at %d µm per pixel of the screen the scale bar is %s', (microns, label, pixels) => {
  expect(fitScaleBar(microns)).toEqual({ label, pixels: expect.closeTo(pixels, 1) as number });
});

it.each([
  [0.25, '40×'],
  [0.499, '20×'],
  [4, '2.5×'],
  [32, '0.31×'],
])('%d µm per pixel of the screen are called %s', (microns, name) => {
  expect(formatMagnification(microns)).toBe(name);
});
