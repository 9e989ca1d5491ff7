/** Outlines of objects that a model segmented: the polygons of a GeoJSON in level-0 px. */

type Ring = readonly (readonly [x: number, y: number])[];

interface Geometry {
  type: string;
  coordinates?: unknown;
}

interface Collection {
  features?: readonly { geometry: Geometry | null }[];
}

export function ringsIn(collection: Collection): Ring[] {
  return (collection.features ?? []).flatMap(({ geometry }) => {
    if (geometry?.type === 'Polygon') return geometry.coordinates as Ring[];
    if (geometry?.type === 'MultiPolygon') return (geometry.coordinates as Ring[][]).flat();
    return [];
  });
}

export function pathOf(rings: readonly Ring[]): Path2D {
  const path = new Path2D();
  for (const ring of rings) {
    ring.forEach(([x, y], place) => {
      if (place === 0) path.moveTo(x, y);
      else path.lineTo(x, y);
    });
    path.closePath();
  }
  return path;
}
