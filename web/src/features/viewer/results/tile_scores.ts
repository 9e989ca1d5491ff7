/** A job's scores by position on the slide, in typed arrays, since a slide has up to half a million tiles. */

import type { Box } from '../geometry';

/** The grid of tiles in level-0 px, anchored to the slide's corner, as in summary.json and the plan. */
export interface Grid {
  side: number;
  side_y: number;
  stride: number;
  stride_y: number;
  columns: number;
  rows: number;
}

export interface Column {
  name: string;
  low: number; // the value drawn in the lowest colour
  high: number;
  title?: string; // for people, in place of the name
  unit?: string; // of the values
  meaning?: string; // a sentence
  has_range?: boolean; // false: low and high are a choice for the heatmap
}

export interface Tile {
  cell: number;
  box: Box;
  scores: readonly number[] | null; // null: it could not be read
  reason?: string;
}

const NOTHING = 0;
const UNREADABLE = -1;

export class TileScores {
  /** For each grid cell, row by row: 1 + the tile's row in `values`, NOTHING or UNREADABLE. */
  private readonly cells: Int32Array;
  private values: Float32Array;
  private readonly reasons = new Map<number, string>(); // by cell
  count = 0; // tiles with scores

  constructor(
    readonly grid: Grid,
    readonly width: number, // scores per tile
    expected = 1024, // tiles
  ) {
    this.cells = new Int32Array(grid.columns * grid.rows);
    this.values = new Float32Array(expected * width);
  }

  /** Return the cells of tiles that could not be read. */
  unreadableCells(): IterableIterator<number> {
    return this.reasons.keys();
  }

  get unreadableCount(): number {
    return this.reasons.size;
  }

  isUnreadable(cell: number): boolean {
    return this.cells[cell] === UNREADABLE;
  }

  isAnalysed(cell: number): boolean {
    return (this.cells[cell] ?? NOTHING) > 0;
  }

  /** Return the cell that contains a point in level-0 px; -1 outside the grid. */
  cellAt(x: number, y: number): number {
    const column = Math.floor(x / this.grid.stride);
    const row = Math.floor(y / this.grid.stride_y);
    const isInside = column >= 0 && column < this.grid.columns && row >= 0 && row < this.grid.rows;
    return isInside ? row * this.grid.columns + column : -1;
  }

  /** Store the scores of the tile whose box begins at (x, y): `width` numbers of `from`, from `start` on. */
  put(x: number, y: number, from: ArrayLike<number>, start = 0): void {
    const cell = this.cellAt(x, y);
    if (cell < 0) throw new RangeError(`A tile at (${x}, ${y}) lies beside the grid.`);
    const held = this.cells[cell] ?? NOTHING;
    const row = held > 0 ? held - 1 : this.count++;
    if ((row + 1) * this.width > this.values.length) this.grow();
    for (let column = 0; column < this.width; column += 1) {
      this.values[row * this.width + column] = from[start + column] ?? NaN;
    }
    this.cells[cell] = row + 1;
  }

  putUnreadable(x: number, y: number, reason: string): void {
    const cell = this.cellAt(x, y);
    if (cell < 0) throw new RangeError(`A tile at (${x}, ${y}) lies beside the grid.`);
    this.cells[cell] = UNREADABLE;
    this.reasons.set(cell, reason);
  }

  /** Return a score; NaN if there is none. */
  scoreAt(cell: number, column: number): number {
    const held = this.cells[cell] ?? NOTHING;
    return held > 0 ? (this.values[(held - 1) * this.width + column] ?? NaN) : NaN;
  }

  /** Return one column's scores by cell; NaN where there is none. */
  columnValues(column: number): Float32Array {
    const values = new Float32Array(this.cells.length);
    for (let cell = 0; cell < values.length; cell += 1) values[cell] = this.scoreAt(cell, column);
    return values;
  }

  box(cell: number): Box {
    const { columns, stride, stride_y, side, side_y } = this.grid;
    return { x: (cell % columns) * stride, y: Math.floor(cell / columns) * stride_y, width: side, height: side_y };
  }

  /** Return the tile at a cell; null if none was analysed. */
  tile(cell: number): Tile | null {
    const held = cell < 0 ? NOTHING : (this.cells[cell] ?? NOTHING);
    if (held === NOTHING) return null;
    const box = this.box(cell);
    if (held === UNREADABLE) return { cell, box, scores: null, reason: this.reasons.get(cell) ?? '' };
    const start = (held - 1) * this.width;
    return { cell, box, scores: Array.from(this.values.subarray(start, start + this.width)) };
  }

  /** Return the tiles with the highest scores in a column, highest first; equal ones in grid order. */
  highestTiles(column: number, most: number): Tile[] {
    const best: { cell: number; value: number }[] = [];
    for (let cell = 0; cell < this.cells.length; cell += 1) {
      const value = this.scoreAt(cell, column);
      const last = best.at(-1);
      if (Number.isNaN(value) || (best.length === most && last !== undefined && value <= last.value)) continue;
      const place = best.findIndex((held) => held.value < value);
      best.splice(place < 0 ? best.length : place, 0, { cell, value });
      if (best.length > most) best.pop();
    }
    return best.flatMap(({ cell }) => this.tile(cell) ?? []);
  }

  private grow(): void {
    const larger = new Float32Array(Math.max(this.values.length * 2, this.width * 1024));
    larger.set(this.values);
    this.values = larger;
  }
}
