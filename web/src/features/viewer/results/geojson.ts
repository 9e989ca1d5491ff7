/** GeoJSON, parsed as it arrives: a file of a million outlines is longer than a browser's longest string. */

export interface Feature {
  type?: string;
  geometry?: { type: string; coordinates?: unknown } | null;
  properties?: {
    classification?: { name?: string; color?: readonly [number, number, number] } | null;
    measurements?: Readonly<Record<string, unknown>>;
  } | null;
}

const [QUOTE, BACKSLASH, LIST, OPEN, CLOSE] = [0x22, 0x5c, 0x5b, 0x7b, 0x7d];

/** Yield the features of a FeatureCollection, or of a bare array, one by one. Throws if the file is incomplete. */
export async function* parseFeatures(texts: AsyncIterable<string>): AsyncGenerator<Feature> {
  let rest = ''; // of an incomplete object
  let depth = 0; // of braces
  let outer: number | null = null; // depth of the list of features: 1 inside a collection
  let isText = false;
  let isEscaped = false;
  for await (const text of texts) {
    let start = rest === '' ? -1 : 0;
    for (let at = 0; at < text.length; at += 1) {
      const letter = text.charCodeAt(at);
      if (isEscaped) isEscaped = false;
      else if (isText) {
        if (letter === BACKSLASH) isEscaped = true;
        else if (letter === QUOTE) isText = false;
      } else if (letter === QUOTE) isText = true;
      else if (letter === LIST) outer ??= 0;
      else if (letter === OPEN) {
        outer ??= 1;
        if (depth === outer) start = at;
        depth += 1;
      } else if (letter === CLOSE) {
        depth -= 1;
        if (depth === outer && start >= 0) {
          const found = JSON.parse(rest + text.slice(start, at + 1)) as Feature;
          rest = '';
          start = -1;
          if (found.type === 'Feature') yield found;
        }
      }
    }
    if (start >= 0) rest += text.slice(start);
  }
  if (depth !== 0 || outer === null) throw new Error('The file of outlines is incomplete. Reload the page.');
}
