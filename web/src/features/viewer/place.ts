/** Where one looks, in the address's hash, so that a colleague who opens it sees the same. */

export interface Place {
  x: number; // level-0 px in the middle
  y: number;
  zoom: number; // px on the screen a level-0 px
}

export function placeIn(hash: string): Place | null {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const [x, y, zoom] = ['x', 'y', 'z'].map((name) => Number(given.get(name) ?? NaN)) as [number, number, number];
  return [x, y, zoom].every(Number.isFinite) && zoom > 0 ? { x, y, zoom } : null;
}

export function hashOf({ x, y, zoom }: Place): string {
  return `#x=${Math.round(x)}&y=${Math.round(y)}&z=${Number(zoom.toPrecision(4))}`;
}
