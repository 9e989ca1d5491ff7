import type OpenSeadragon from 'openseadragon';
import type { Opening } from './engine';
import type { MissingTiles } from './missing_tiles';

/** The slide's pyramid (docs/tiles.md) as OpenSeadragon takes it. */
export function tileSource(library: typeof OpenSeadragon, { pyramid, tile }: Pick<Opening, 'pyramid' | 'tile'>, missing: MissingTiles) {
  const level = (number: number) => {
    const found = pyramid.levels[number];
    if (found === undefined) throw new RangeError(`There is no level ${number}.`);
    return found;
  };
  const going = new Map<OpenSeadragon.ImageJob, AbortController>();
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
    // By the page's own client, which renews tokens, waits for a busy server and knows the API's sentences.
    downloadTileStart: (job: OpenSeadragon.ImageJob & { tile: OpenSeadragon.Tile }) => {
      const leaving = new AbortController();
      going.set(job, leaving);
      tile(job.tile.level, job.tile.x, job.tile.y, leaving.signal).then(
        (blob) => {
          if (leaving.signal.aborted) return;
          going.delete(job);
          job.finish(blob, null, 'rasterBlob');
        },
        (error: unknown) => {
          if (leaving.signal.aborted) return; // it knows
          going.delete(job);
          missing.failed(job.tile, error);
          job.fail(String(error), null);
        },
      );
    },
    downloadTileAbort: (job: OpenSeadragon.ImageJob) => {
      going.get(job)?.abort();
      going.delete(job);
    },
  };
  /** Ends what is on its way: a viewer that is destroyed forgets it, and complains when it comes. */
  const leave = () => {
    for (const [job, leaving] of going) {
      clearTimeout(job.jobId ?? undefined);
      leaving.abort();
    }
    going.clear();
  };
  return { source, leave };
}
