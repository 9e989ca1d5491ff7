/** Lengths and magnifications as people read them. */
import { number } from '../../ui/format';

const LONGEST = 160; // px on the screen
const AT_TEN_TIMES = 1; // µm a pixel

export interface ScaleBar {
  pixels: number; // on the screen
  label: string;
}

/** The longest of 1, 2 and 5 times a power of ten that fits; `microns`: of a pixel on the screen. */
export function scaleBar(microns: number): ScaleBar {
  const most = microns * LONGEST;
  const power = 10 ** Math.floor(Math.log10(most));
  const length = ([5, 2, 1].find((step) => step * power <= most) ?? 1) * power;
  const label = length >= 1000 ? `${number(length / 1000)} mm` : `${number(length, 3)} µm`;
  return { pixels: length / microns, label };
}

/** What a microscope would be set to: "20×", "2.5×". */
export function magnification(microns: number): string {
  const value = (10 * AT_TEN_TIMES) / microns;
  return `${number(value, value < 10 ? (value < 1 ? 2 : 1) : 0)}×`;
}
