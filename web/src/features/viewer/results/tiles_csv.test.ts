import { describe, expect, it } from 'vitest';
import { readTiles } from './tiles_csv';
import { TileScores } from './tile_scores';

const GRID = { side: 10, side_y: 10, stride: 10, stride_y: 10, columns: 3, rows: 2 };

/** In chunks of so many bytes. */
function streamOf(text: string, size = 7): ReadableStream<Uint8Array<ArrayBuffer>> {
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
}

describe('tiles.csv', () => {
  it('is read row by row, however its bytes are cut', async () => {
    const scores = new TileScores(GRID, 2);
    await readTiles(streamOf('minx,miny,width,height,"a, b",c\n0,10,10,10,0.125,1e-05\n20,0,10,10,-2.5,3\n'), scores);
    expect(scores.count).toBe(2);
    expect(scores.tile(scores.cellAt(5, 15))?.scores?.[0]).toBe(0.125);
    expect(scores.tile(scores.cellAt(5, 15))?.scores?.[1]).toBeCloseTo(1e-5, 10);
    expect(scores.tile(scores.cellAt(25, 5))?.scores).toEqual([-2.5, 3]);
  });

  it('without rows has no tiles', async () => {
    const scores = new TileScores(GRID, 1);
    await readTiles(streamOf('minx,miny,width,height,a\n'), scores);
    expect(scores.count).toBe(0);
  });

  it('that breaks off, or has other columns, is refused', async () => {
    await expect(readTiles(streamOf('minx,miny,width,height,a\n0,0,10,10,0.'), new TileScores(GRID, 1))).rejects.toThrow('in the middle');
    await expect(readTiles(streamOf('minx,miny,width,height\n0,0,10,10\n'), new TileScores(GRID, 1))).rejects.toThrow('4 columns in place of 5');
  });
});
