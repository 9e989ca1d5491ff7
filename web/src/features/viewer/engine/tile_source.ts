import type OpenSeadragon from 'openseadragon';
import type { Opening } from './engine';
import type { MissingTiles } from './missing_tiles';

/** Present the slide's pyramid (docs/reference/tiles.md) as an OpenSeadragon tile source. */
export function makeTileSource(library: typeof OpenSeadragon, { pyramid, tile }: Pick<Opening, 'pyramid' | 'tile'>, missing: MissingTiles) {
  const level = (number: number) => {
    const found = pyramid.levels[number];
    if (found === undefined) throw new RangeError(`There is no level ${number}.`);
    return found;
  };
  const pending = new Map<OpenSeadragon.ImageJob, AbortController>();
  const source = {
    width: pyramid.width,
    height: pyramid.height,
    tileOverlap: 0,
    minLevel: 0,
    maxLevel: pyramid.levels.length - 1,
    getLevelScale: (number: number) => level(number).width / pyramid.width,
    getNumTiles: (number: number) => new library.Point(level(number).columns, level(number).rows),
    getTileWidth: (number: number) => level(number).tile_width,
    getTileHeight: (number: number) => level(number).tile_height,
    getTileUrl: (number: number, x: number, y: number) =>
      pyramid.tile_url.replace('{level}', String(number)).replace('{x}', String(x)).replace('{y}', String(y)),
    // Through the page's own client, which renews tokens, waits for a busy server and reads the API's error messages.
    downloadTileStart: (job: OpenSeadragon.ImageJob & { tile: OpenSeadragon.Tile }) => {
      const abort = new AbortController();
      pending.set(job, abort);
      tile(job.tile.level, job.tile.x, job.tile.y, abort.signal).then(
        (blob) => {
          if (abort.signal.aborted) return;
          pending.delete(job);
          job.finish(blob, null, 'rasterBlob');
        },
        (error: unknown) => {
          if (abort.signal.aborted) return; // cancelled by OpenSeadragon
          pending.delete(job);
          missing.add(job.tile, error);
          job.fail(String(error), null);
        },
      );
    },
    downloadTileAbort: (job: OpenSeadragon.ImageJob) => {
      pending.get(job)?.abort();
      pending.delete(job);
    },
  };
  /** Cancel all pending loads: a destroyed viewer forgets them, and throws when one arrives. */
  const cancelAll = () => {
    for (const [job, abort] of pending) {
      clearTimeout(job.jobId ?? undefined);
      abort.abort();
    }
    pending.clear();
  };
  return { source, cancelAll };
}
