/** The viewport in the address's hash, so that a colleague who opens the address sees the same. */

export interface Viewport {
  x: number; // level-0 px of the centre
  y: number;
  zoom: number; // px on the screen per level-0 px
}

export function parseViewport(hash: string): Viewport | null {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const [x, y, zoom] = ['x', 'y', 'z'].map((name) => Number(given.get(name) ?? NaN)) as [number, number, number];
  return [x, y, zoom].every(Number.isFinite) && zoom > 0 ? { x, y, zoom } : null;
}

export function formatViewport({ x, y, zoom }: Viewport): string {
  return `#x=${Math.round(x)}&y=${Math.round(y)}&z=${Number(zoom.toPrecision(4))}`;
}
