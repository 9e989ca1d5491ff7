import type OpenSeadragon from 'openseadragon';

/** Tiles that did not come: a coarser level is seen in their place, and the library would never ask for them again. */
export class MissingTiles {
  private readonly tiles = new Set<OpenSeadragon.Tile>();

  /** `told`: of an error, each time; of null once nothing in sight is missing after all. */
  constructor(private readonly told: (error: unknown) => void) {}

  failed(tile: OpenSeadragon.Tile, error: unknown): void {
    this.tiles.add(tile);
    this.told(error);
  }

  /** Those in sight are asked for with the next frame, unless a finer level covers them by now. */
  askAgain(viewers: readonly OpenSeadragon.Viewer[]): void {
    for (const tile of this.tiles) tile.exists = true;
    for (const { world } of viewers) {
      for (let number = 0; number < world.getItemCount(); number += 1) world.getItemAt(number).update(true);
    }
    this.settle(viewers);
  }

  /** To be called when a viewer has all that it asked for. */
  settle(viewers: readonly OpenSeadragon.Viewer[]): void {
    const isWhole = viewers.every(({ world }) => world.getItemCount() > 0 && world.getItemAt(0).getFullyLoaded());
    if (!isWhole || this.tiles.size === 0 || [...this.tiles].some(({ exists }) => !exists)) return;
    this.tiles.clear();
    this.told(null);
  }
}
