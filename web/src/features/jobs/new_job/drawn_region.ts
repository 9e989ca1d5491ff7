/** Reads a GeoJSON file as QuPath exports it, and keeps only coordinates: names and notes stay on this computer. */
import type { GeoJson } from './draft';

const LARGEST_FILE = 64 * 1024 ** 2; // bytes, unpacked, as wsi/planning/region_geojson.py
const LARGEST = 5_000_000; // bytes of coordinates; the API accepts little more in a request
const TOO_LARGE = 'The file is larger than 64 MB: export the annotations alone, without cells or tiles.';
const KEPT = new Set(['type', 'features', 'geometry', 'geometries', 'coordinates']);
// QuPath writes NaN and Infinity in measurements; strings may contain these words too.
const TEXTS_AND_NO_NUMBERS = /"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g;

/** Return the GeoJSON, or a message that explains the fault. The API checks the polygons. */
export async function readDrawnRegion(file: File): Promise<GeoJson | string> {
  if (file.size > LARGEST_FILE) return TOO_LARGE;
  let text: string | null;
  try {
    text = await readText(await file.arrayBuffer());
  } catch {
    return 'The file is compressed and cannot be unpacked. Export it again.';
  }
  if (text === null) return TOO_LARGE;
  let value: unknown;
  try {
    value = JSON.parse(text.replace(TEXTS_AND_NO_NUMBERS, (found) => (found.startsWith('"') ? found : 'null')));
  } catch {
    return 'The file is not JSON.';
  }
  // QuPath exports several annotations as a list of features too.
  const geojson = Array.isArray(value) ? { type: 'FeatureCollection', features: value } : value;
  if (typeof geojson !== 'object' || geojson === null) return 'The file contains no GeoJSON.';
  const kept = keepCoordinates(geojson as GeoJson);
  return JSON.stringify(kept).length > LARGEST ? 'The drawing has too many points: export fewer or simpler polygons.' : kept;
}

/** Decompress and decode; null if the text is too large. */
async function readText(data: ArrayBuffer): Promise<string | null> {
  const [first, second] = new Uint8Array(data.slice(0, 2));
  if (first !== 0x1f || second !== 0x8b) return new TextDecoder().decode(data);
  const parts: Uint8Array[] = [];
  let size = 0;
  const packed = new Response(data).body;
  if (packed === null) return '';
  const reader = packed.pipeThrough(new DecompressionStream('gzip')).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.byteLength;
    if (size > LARGEST_FILE) {
      await reader.cancel();
      return null;
    }
    parts.push(part.value);
  }
  const decoder = new TextDecoder();
  return parts.map((part) => decoder.decode(part, { stream: true })).join('') + decoder.decode();
}

function keepCoordinates(value: GeoJson): GeoJson {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => KEPT.has(name))
      .map(([name, held]) => [name, name === 'coordinates' ? held : reduceValue(held)]),
  );
}

function reduceValue(held: unknown): unknown {
  if (Array.isArray(held)) return held.map(reduceValue);
  return typeof held === 'object' && held !== null ? keepCoordinates(held as GeoJson) : held;
}
