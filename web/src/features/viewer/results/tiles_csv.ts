/** tiles.csv as it comes: a file of half a million rows is never one string. */
import type { TileScores } from './tile_scores';

const BOX = 4; // columns before the scores: minx, miny, width, height

/** Puts all rows of the file into `scores`. Throws when the file is not whole or has other columns. */
export async function readTiles(stream: ReadableStream<Uint8Array<ArrayBuffer>>, scores: TileScores): Promise<void> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  const row = new Float64Array(BOX + scores.width);
  let rest = '';
  let isHead = true;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (isHead) isHead = false;
      else putRow(line, row, scores);
    }
  }
  if (isHead || rest !== '') throw new Error('The table of tiles ends in the middle of a row. Reload the page.');
}

function putRow(line: string, row: Float64Array, scores: TileScores): void {
  const fields = line.split(',');
  if (fields.length !== row.length) {
    throw new Error(`The table of tiles has a row of ${fields.length} columns in place of ${row.length}.`);
  }
  for (let column = 0; column < row.length; column += 1) row[column] = Number(fields[column]);
  scores.put(row[0] ?? NaN, row[1] ?? NaN, row, BOX);
}
