import type OpenSeadragon from 'openseadragon';

/** Tiles that failed to load. A coarser level is visible in their place, and the library would never request them again. */
export class MissingTiles {
  private readonly tiles = new Set<OpenSeadragon.Tile>();

  /** `onChange` receives each error, and null once no visible tile is missing. */
  constructor(private readonly onChange: (error: unknown) => void) {}

  add(tile: OpenSeadragon.Tile, error: unknown): void {
    this.tiles.add(tile);
    this.onChange(error);
  }

  /** Request visible missing tiles with the next frame, unless a finer level covers them by now. */
  retry(viewers: readonly OpenSeadragon.Viewer[]): void {
    for (const tile of this.tiles) tile.exists = true;
    for (const { world } of viewers) {
      for (let number = 0; number < world.getItemCount(); number += 1) world.getItemAt(number).update(true);
    }
    this.reportWhenComplete(viewers);
  }

  /** Call this when a viewer has loaded everything that it requested. */
  reportWhenComplete(viewers: readonly OpenSeadragon.Viewer[]): void {
    const isWhole = viewers.every(({ world }) => world.getItemCount() > 0 && world.getItemAt(0).getFullyLoaded());
    if (!isWhole || this.tiles.size === 0 || [...this.tiles].some(({ exists }) => !exists)) return;
    this.tiles.clear();
    this.onChange(null);
  }
}
