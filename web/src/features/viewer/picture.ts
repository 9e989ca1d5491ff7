/** The heatmap as a picture of one pixel a cell of the grid, which is drawn over the slide enlarged. */
import { type ColourMap, STEPS, colourTable } from './colours';
import type { Column, Scores } from './scores';

export interface Look {
  column: number; // whose scores are shown
  map: ColourMap;
  threshold: number; // lower scores are left out
}

/** RGBA, row by row: opaque where there is a score of at least the threshold, else nothing. */
export function paintedCells(scores: Scores, { low, high }: Column, { column, map, threshold }: Look): ImageDataArray {
  const table = colourTable(map);
  const cells = scores.grid.columns * scores.grid.rows;
  const pixels = new Uint8ClampedArray(cells * 4);
  for (let cell = 0; cell < cells; cell += 1) {
    const value = scores.at(cell, column);
    if (!(value >= threshold)) continue; // NaN too
    const part = Math.min(Math.max((value - low) / (high - low), 0), 1);
    const [red, green, blue] = table[Math.round(part * (STEPS - 1))] ?? [0, 0, 0];
    pixels[cell * 4] = red;
    pixels[cell * 4 + 1] = green;
    pixels[cell * 4 + 2] = blue;
    pixels[cell * 4 + 3] = 255;
  }
  return pixels;
}

export function heatmapPicture(scores: Scores, column: Column, look: Look): HTMLCanvasElement | null {
  const canvas = document.createElement('canvas');
  canvas.width = scores.grid.columns;
  canvas.height = scores.grid.rows;
  const context = canvas.getContext('2d');
  if (context === null) return null;
  context.putImageData(new ImageData(paintedCells(scores, column, look), canvas.width, canvas.height), 0, 0);
  return canvas;
}
