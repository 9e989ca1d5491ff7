/** The length of the scale bar, and the magnification, as text. */
import { formatNumber } from '../../../ui/format';

const LONGEST_BAR = 160; // px on the screen
const AT_TEN_TIMES = 1; // µm per pixel

export interface ScaleBarSize {
  pixels: number; // on the screen
  label: string;
}

/** Return the longest bar of 1, 2 or 5 times a power of ten µm that fits. `microns`: µm per pixel on the screen. */
export function fitScaleBar(microns: number): ScaleBarSize {
  const most = microns * LONGEST_BAR;
  const power = 10 ** Math.floor(Math.log10(most));
  const length = ([5, 2, 1].find((step) => step * power <= most) ?? 1) * power;
  const label = length >= 1000 ? `${formatNumber(length / 1000)} mm` : `${formatNumber(length, 3)} µm`;
  return { pixels: length / microns, label };
}

/** Return the equivalent magnification of a microscope: "20×", "2.5×". */
export function formatMagnification(microns: number): string {
  const value = (10 * AT_TEN_TIMES) / microns;
  return `${formatNumber(value, value < 10 ? (value < 1 ? 2 : 1) : 0)}×`;
}
