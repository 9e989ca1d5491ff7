/** Scores as images of one pixel per grid cell, which are drawn enlarged over the slide. */
import { type ColourMap, STEPS, makeColourTable } from './colour_maps';
import type { Range } from '../results/column_text';
import type { Grid, TileScores } from '../results/tile_scores';

export interface HeatmapStyle {
  map: ColourMap;
  threshold: number; // lower scores are not drawn
}

const OPAQUE = 0xff000000;
const GREY = 0x5a5a5a;
const BLUE = 0xb27200; // #0072b2, as 0xBBGGRR

/** An image that is repainted in place: dragging the threshold needs sixty a second. */
export class CellImage {
  readonly canvas = document.createElement('canvas');
  private image: ImageData | null = null;

  /** Let `colours` set each cell: 0xAABBGGRR, or 0 for transparent. Return null if this browser has no canvas. */
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

/** Set `pixels` (0xAABBGGRR, by cell): opaque for scores of at least the threshold, else transparent. */
export function colourScores(pixels: Uint32Array, values: Float32Array, { low, high }: Range, { map, threshold }: HeatmapStyle): void {
  const table = Uint32Array.from(makeColourTable(map), ([red, green, blue]) => OPAQUE | (blue << 16) | (green << 8) | red);
  const steps = (STEPS - 1) / (high - low);
  for (let cell = 0; cell < values.length; cell += 1) {
    const value = values[cell] ?? NaN;
    const step = Math.min(Math.max(Math.round((value - low) * steps), 0), STEPS - 1);
    pixels[cell] = value >= threshold ? (table[step] ?? 0) : 0; // NaN: no score
  }
}

/** Set `pixels`, by cell: grey where a tile could not be read, else transparent. */
export function colourUnreadable(pixels: Uint32Array, scores: TileScores): void {
  pixels.fill(0);
  for (const cell of scores.unreadableCells()) pixels[cell] = (OPAQUE | GREY) >>> 0;
}

/** Set `pixels`, by cell: one colour where a tile was analysed, else transparent. */
export function colourAnalysed(pixels: Uint32Array, scores: TileScores): void {
  for (let cell = 0; cell < pixels.length; cell += 1) pixels[cell] = scores.isAnalysed(cell) ? (OPAQUE | BLUE) >>> 0 : 0;
}
