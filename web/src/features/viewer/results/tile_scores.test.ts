import { describe, expect, it } from 'vitest';
import { toScreen } from '../geometry';
import { findVisibleCells } from '../overlays/paint_layers';
import { type HeatmapStyle, colourScores, colourUnreadable } from '../overlays/cell_image';
import { type Column, type Grid, TileScores } from './tile_scores';

const GRID: Grid = { side: 100, side_y: 50, stride: 100, stride_y: 50, columns: 4, rows: 3 };
const COLUMN = { name: 'tumour', low: 0, high: 1 };

function filled(): TileScores {
  const scores = new TileScores(GRID, 2, 1);
  scores.put(100, 50, [0.25, 0.75]);
  scores.put(300, 100, [1, 0]);
  scores.put(0, 0, [0.5, 0.5]);
  scores.putUnreadable(200, 0, 'tile 7 is damaged');
  return scores;
}

/** Red, green, blue and opacity by cell. */
function paintedCells(scores: TileScores, column: Column, look: HeatmapStyle): Uint8Array {
  const pixels = new Uint32Array(scores.grid.columns * scores.grid.rows);
  colourScores(pixels, scores.columnValues(0), column, look);
  return new Uint8Array(pixels.buffer);
}

describe('the scores of a job', () => {
  it('are found by the place that is pointed at', () => {
    const scores = filled();
    expect(scores.tile(scores.cellAt(199.9, 50))).toEqual({
      cell: 5,
      box: { x: 100, y: 50, width: 100, height: 50 },
      scores: [0.25, 0.75],
    });
    expect(scores.tile(scores.cellAt(200, 49))).toMatchObject({ scores: null, reason: 'tile 7 is damaged' });
    expect(scores.tile(scores.cellAt(0, 149))).toBeNull();
    expect([scores.cellAt(-1, 0), scores.cellAt(400, 0), scores.cellAt(0, 150)]).toEqual([-1, -1, -1]);
    expect(scores.tile(-1)).toBeNull();
  });

  it('grow beyond what was expected, and a tile that comes twice counts once', () => {
    const scores = filled();
    scores.put(0, 0, [0.1, 0.2]);
    expect(scores.count).toBe(3);
    expect(scores.tile(0)?.scores?.[0]).toBeCloseTo(0.1, 6);
  });

  it('refuse a tile beside the grid', () => {
    expect(() => {
      filled().put(400, 0, [1, 1]);
    }).toThrow('lies beside the grid');
  });

  it('name the highest tiles of a column first', () => {
    const scores = filled();
    expect(scores.highestTiles(0, 2).map(({ cell }) => cell)).toEqual([11, 0]);
    expect(scores.highestTiles(1, 9).map(({ cell }) => cell)).toEqual([5, 0, 11]);
  });

  it('of half a million tiles are painted and searched in less than a second of CPU time each', () => {
    const scores = new TileScores({ ...GRID, columns: 1000, rows: 500 }, 2, 500_000);
    for (let cell = 0; cell < 500_000; cell += 1) scores.put((cell % 1000) * 100, Math.floor(cell / 1000) * 50, [cell / 5e5, 0]);
    const begin = process.cpuUsage();
    expect(paintedCells(scores, COLUMN, { map: 'viridis', threshold: -Infinity })).toHaveLength(2_000_000);
    expect(scores.highestTiles(0, 1)[0]?.cell).toBe(499_999);
    const { user, system } = process.cpuUsage(begin); // not the clock: other tests take the cores meanwhile
    expect(user + system).toBeLessThan(2_000_000); // µs
  });
});

describe('the picture of the heatmap', () => {
  const pixel = (pixels: ArrayLike<number>, cell: number) => Array.from(pixels).slice(cell * 4, cell * 4 + 4);

  it('has one pixel a cell, in the colour of its score', () => {
    const pixels = paintedCells(filled(), COLUMN, { map: 'viridis', threshold: -Infinity });
    expect(pixel(pixels, 11)).toEqual([0xfd, 0xe7, 0x25, 255]);
    expect(pixel(pixels, 1)).toEqual([0, 0, 0, 0]);
    expect(pixel(pixels, 2)).toEqual([0, 0, 0, 0]); // unreadable: hatched, and no colour of a score
  });

  it('is grey where a tile could not be read, and nowhere else', () => {
    const pixels = new Uint32Array(12).fill(1);
    colourUnreadable(pixels, filled());
    expect(pixel(new Uint8Array(pixels.buffer), 2)).toEqual([90, 90, 90, 255]);
    expect(pixels.filter((colour) => colour !== 0)).toHaveLength(1);
  });

  it('leaves out what lies below the threshold and clips what lies beside the range', () => {
    const look = { map: 'viridis', threshold: 0.5 } as const;
    const pixels = paintedCells(filled(), { ...COLUMN, high: 0.5 }, look);
    expect(pixel(pixels, 5)[3]).toBe(0);
    expect(pixel(pixels, 0)).toEqual(pixel(pixels, 11));
  });
});

it('a box lies on the screen where the slide does', () => {
  const frame = { left: 50, top: 20, scale: 0.5, width: 800, height: 600 };
  expect(toScreen({ x: 100, y: 50, width: 100, height: 50 }, frame)).toEqual({ x: 25, y: 15, width: 50, height: 25 });
});

describe('the cells in sight', () => {
  const at = (left: number, top: number, grid: Grid = GRID) => findVisibleCells(grid, { left, top, scale: 2, width: 200, height: 100 });

  it('are those whose boxes reach into the stage', () => {
    expect(at(0, 0)).toEqual({ left: 0, top: 0, right: 1, bottom: 1 });
    expect(at(50, 25)).toEqual({ left: 0, top: 0, right: 2, bottom: 2 });
    expect(at(100, 50)).toEqual({ left: 1, top: 1, right: 2, bottom: 2 });
    expect(at(99.9, 49.9)).toEqual({ left: 0, top: 0, right: 2, bottom: 2 });
  });

  it('end with the grid, and are none beside it', () => {
    expect(at(350, 120)).toEqual({ left: 3, top: 2, right: 4, bottom: 3 });
    const beside = [at(-500, -500), at(5000, 5000)];
    expect(beside.every(({ left, top, right, bottom }) => right <= left && bottom <= top)).toBe(true);
  });

  it('hold boxes that lie over their neighbours', () => {
    expect(at(250, 0, { ...GRID, side: 180 })).toMatchObject({ left: 1, right: 4 });
  });
});
