/** Scores as pictures of one pixel a cell of the grid, which are drawn over the slide enlarged. */
import { type ColourMap, STEPS, colourTable } from './colours';
import type { Column, Grid, Scores } from './scores';

export interface Look {
  map: ColourMap;
  threshold: number; // lower scores are left out
}

const OPAQUE = 0xff000000;
const GREY = 0x5a5a5a;

/** A picture that is painted anew in place, since somebody who drags the threshold asks for sixty a second. */
export class CellPicture {
  readonly canvas = document.createElement('canvas');
  private image: ImageData | null = null;

  /** `colour` of a cell: 0xAABBGGRR, 0 for nothing. Returns null where this browser draws nothing. */
  paint({ columns, rows }: Grid, colours: (pixels: Uint32Array) => void): HTMLCanvasElement | null {
    const context = this.canvas.getContext('2d');
    if (context === null) return null;
    if (this.image?.width !== columns || this.image.height !== rows) {
      this.canvas.width = columns;
      this.canvas.height = rows;
      this.image = new ImageData(columns, rows);
    }
    colours(new Uint32Array(this.image.data.buffer));
    context.putImageData(this.image, 0, 0);
    return this.canvas;
  }
}

/** Into `pixels` (0xAABBGGRR, by cell): opaque where there is a score of at least the threshold, else nothing. */
export function paintScores(pixels: Uint32Array, values: Float32Array, { low, high }: Column, { map, threshold }: Look): void {
  const table = Uint32Array.from(colourTable(map), ([red, green, blue]) => OPAQUE | (blue << 16) | (green << 8) | red);
  const steps = (STEPS - 1) / (high - low);
  for (let cell = 0; cell < values.length; cell += 1) {
    const value = values[cell] ?? NaN;
    const step = Math.min(Math.max(Math.round((value - low) * steps), 0), STEPS - 1);
    pixels[cell] = value >= threshold ? (table[step] ?? 0) : 0; // NaN is no score
  }
}

/** Into `pixels`, by cell: grey where a tile could not be read. */
export function paintUnreadable(pixels: Uint32Array, scores: Scores): void {
  pixels.fill(0);
  for (const cell of scores.unreadable()) pixels[cell] = (OPAQUE | GREY) >>> 0;
}
