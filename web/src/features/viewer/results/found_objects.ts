/** The objects that a model outlined: polygons in level-0 px, in typed arrays, since a slide has up to a million. */
import type { Feature } from './geojson';
import type { Box } from '../geometry';

export interface ObjectClass {
  name: string;
  colour: string; // CSS
  count: number;
}

/** Objects as the worker transfers them. Each list of starts ends with one more entry, the end of the last element. */
export interface PackedObjects {
  points: Float32Array; // x, y
  rings: Uint32Array; // index of the first point of each ring
  objects: Uint32Array; // index of the first ring of each object
  boxes: Float32Array; // left, top, right, bottom of each object
  classOf: Uint16Array;
  classes: readonly ObjectClass[];
  measured: readonly string[]; // names of measurements
  values: Float32Array; // for each object, in the order of `measured`; NaN if missing
}

type Ring = readonly (readonly [x: number, y: number])[];

/** Okabe and Ito's colours without black: distinct with a colour-vision deficiency, and from haematoxylin and eosin. */
const PALETTE = ['#e69f00', '#56b4e9', '#009e73', '#f0e442', '#0072b2', '#d55e00', '#cc79a7'] as const;
const UNNAMED = 'Object';

/** A typed array that doubles its capacity when it is full. */
class GrowingArray<Kind extends Float32Array | Uint32Array | Uint16Array> {
  length = 0;

  constructor(
    private held: Kind,
    private readonly larger: (size: number) => Kind,
  ) {}

  push(value: number): void {
    if (this.length === this.held.length) {
      const next = this.larger(Math.max(1024, this.held.length * 2));
      next.set(this.held);
      this.held = next;
    }
    this.held[this.length] = value;
    this.length += 1;
  }

  done(): Kind {
    return this.held.slice(0, this.length) as Kind;
  }
}

const makeFloats = () => new GrowingArray(new Float32Array(0), (size) => new Float32Array(size));
const makeIndices = () => new GrowingArray(new Uint32Array(0), (size) => new Uint32Array(size));

/** What has no area (points, lines) is no outline, and left out. */
export async function packObjects(features: AsyncIterable<Feature>): Promise<PackedObjects> {
  const [points, rings, objects, boxes] = [makeFloats(), makeIndices(), makeIndices(), makeFloats()];
  const classOf = new GrowingArray(new Uint16Array(0), (size) => new Uint16Array(size));
  const classes = new Map<string, { place: number; colour: string; count: number }>();
  const names = new Map<string, number>();
  const [measuredObjects, measuredNames, measuredValues] = [makeIndices(), makeIndices(), makeFloats()];
  for await (const feature of features) {
    const outline = readRings(feature);
    if (outline.length === 0) continue;
    const number = objects.length;
    objects.push(rings.length);
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const ring of outline) {
      rings.push(points.length / 2);
      for (const [x, y] of ring) {
        points.push(x);
        points.push(y);
        [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x), Math.max(bottom, y)];
      }
    }
    for (const side of [left, top, right, bottom]) boxes.push(side);
    const { classification, measurements: measured } = feature.properties ?? {};
    const name = classification?.name ?? UNNAMED;
    const known = classes.get(name) ?? { place: classes.size, colour: chooseColour(classification?.color, classes.size), count: 0 };
    classes.set(name, { ...known, count: known.count + 1 });
    classOf.push(known.place);
    for (const [key, value] of Object.entries(measured ?? {})) {
      if (typeof value !== 'number') continue;
      const place = names.get(key) ?? names.size;
      names.set(key, place);
      measuredObjects.push(number);
      measuredNames.push(place);
      measuredValues.push(value);
    }
  }
  rings.push(points.length / 2);
  const count = objects.length;
  objects.push(rings.length - 1);
  const values = new Float32Array(count * names.size).fill(NaN);
  const [numbers, places, given] = [measuredObjects.done(), measuredNames.done(), measuredValues.done()];
  numbers.forEach((number, at) => {
    values[number * names.size + (places[at] ?? 0)] = given[at] ?? NaN;
  });
  return {
    points: points.done(),
    rings: rings.done(),
    objects: objects.done(),
    boxes: boxes.done(),
    classOf: classOf.done(),
    classes: [...classes].map(([name, { colour, count: many }]) => ({ name, colour, count: many })),
    measured: [...names.keys()],
    values,
  };
}

function readRings({ geometry }: Feature): Ring[] {
  if (geometry?.type === 'Polygon') return geometry.coordinates as Ring[];
  if (geometry?.type === 'MultiPolygon') return (geometry.coordinates as Ring[][]).flat();
  return [];
}

function chooseColour(given: readonly number[] | undefined, place: number): string {
  const isColour = Array.isArray(given) && given.length >= 3 && given.slice(0, 3).every(Number.isInteger);
  return isColour ? `rgb(${given.slice(0, 3).join(' ')})` : (PALETTE[place % PALETTE.length] ?? PALETTE[0]);
}

export interface FoundObject {
  number: number;
  box: Box;
  name: string;
  colour: string;
  measurements: readonly (readonly [name: string, value: number])[];
}

const IN_A_BUCKET = 64; // objects, on average
const LARGE = 4; // buckets along a side; larger objects are always examined

/** Finds objects by place: by buckets of a grid over all of them, each object in that of its middle. */
export class FoundObjects {
  readonly count: number;
  private readonly across: number; // buckets along each side
  private readonly left: number;
  private readonly top: number;
  private readonly wide: number; // of a bucket, level-0 px
  private readonly high: number;
  private readonly begins: Uint32Array; // of each bucket, in `members`
  private readonly members: Uint32Array;
  private readonly large: number[] = [];

  constructor(readonly packed: PackedObjects) {
    this.count = packed.objects.length - 1;
    this.across = Math.max(1, Math.ceil(Math.sqrt(this.count / IN_A_BUCKET)));
    const { boxes } = packed;
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let at = 0; at < boxes.length; at += 4) {
      left = Math.min(left, boxes[at] ?? left);
      top = Math.min(top, boxes[at + 1] ?? top);
      right = Math.max(right, boxes[at + 2] ?? right);
      bottom = Math.max(bottom, boxes[at + 3] ?? bottom);
    }
    [this.left, this.top] = [left, top];
    this.wide = Math.max((right - left) / this.across, 1);
    this.high = Math.max((bottom - top) / this.across, 1);
    const bucketOf = new Int32Array(this.count);
    this.begins = new Uint32Array(this.across * this.across + 1);
    for (let number = 0; number < this.count; number += 1) {
      const box = this.box(number);
      const isLarge = box.width > LARGE * this.wide || box.height > LARGE * this.high;
      if (isLarge) this.large.push(number);
      const bucket = isLarge ? -1 : this.row(box.y + box.height / 2) * this.across + this.column(box.x + box.width / 2);
      bucketOf[number] = bucket;
      if (bucket >= 0) this.begins[bucket + 1] = (this.begins[bucket + 1] ?? 0) + 1;
    }
    for (let bucket = 0; bucket < this.across * this.across; bucket += 1) {
      this.begins[bucket + 1] = (this.begins[bucket + 1] ?? 0) + (this.begins[bucket] ?? 0);
    }
    this.members = new Uint32Array(this.count - this.large.length);
    const next = this.begins.slice();
    bucketOf.forEach((bucket, number) => {
      if (bucket < 0) return;
      const place = next[bucket] ?? 0;
      this.members[place] = number;
      next[bucket] = place + 1;
    });
  }

  box(number: number): Box {
    const [left = 0, top = 0, right = 0, bottom = 0] = this.packed.boxes.subarray(number * 4, number * 4 + 4);
    return { x: left, y: top, width: right - left, height: bottom - top };
  }

  /** Calls `see` for each object whose box reaches into `area`; those larger than some buckets last. */
  forEachWithin(area: Box, see: (number: number) => void): void {
    const { boxes } = this.packed;
    const [right, bottom] = [area.x + area.width, area.y + area.height];
    const isIn = (number: number) =>
      (boxes[number * 4] ?? 0) <= right &&
      (boxes[number * 4 + 1] ?? 0) <= bottom &&
      (boxes[number * 4 + 2] ?? 0) >= area.x &&
      (boxes[number * 4 + 3] ?? 0) >= area.y;
    const [reachX, reachY] = [(LARGE / 2) * this.wide, (LARGE / 2) * this.high];
    const [first, last] = [this.column(area.x - reachX), this.column(right + reachX)];
    for (let row = this.row(area.y - reachY); row <= this.row(bottom + reachY); row += 1) {
      const end = this.begins[row * this.across + last + 1] ?? 0;
      for (let place = this.begins[row * this.across + first] ?? 0; place < end; place += 1) {
        const number = this.members[place] ?? 0;
        if (isIn(number)) see(number);
      }
    }
    for (const number of this.large) if (isIn(number)) see(number);
  }

  /** The smallest object that a level-0 pixel lies in. */
  findAt(x: number, y: number): FoundObject | null {
    let found = -1;
    let least = Infinity;
    this.forEachWithin({ x, y, width: 0, height: 0 }, (number) => {
      const { width, height } = this.box(number);
      if (width * height >= least || !this.isInside(number, x, y)) return;
      [found, least] = [number, width * height];
    });
    return found < 0 ? null : this.describe(found);
  }

  describe(number: number): FoundObject {
    const { classOf, classes, measured, values } = this.packed;
    const { name = UNNAMED, colour = PALETTE[0] } = classes[classOf[number] ?? 0] ?? {};
    const measurements = measured
      .map((label, place) => [label, values[number * measured.length + place] ?? NaN] as const)
      .filter(([, value]) => !Number.isNaN(value));
    return { number, box: this.box(number), name, colour, measurements };
  }

  /** A hole is outside (even-odd). */
  private isInside(number: number, x: number, y: number): boolean {
    const { points, rings, objects } = this.packed;
    let isIn = false;
    for (let ring = objects[number] ?? 0; ring < (objects[number + 1] ?? 0); ring += 1) {
      const [begin, end] = [rings[ring] ?? 0, rings[ring + 1] ?? 0];
      for (let at = begin, before = end - 1; at < end; before = at, at += 1) {
        const [x0 = 0, y0 = 0] = [points[before * 2], points[before * 2 + 1]];
        const [x1 = 0, y1 = 0] = [points[at * 2], points[at * 2 + 1]];
        if (y0 > y !== y1 > y && x < ((x0 - x1) * (y - y1)) / (y0 - y1) + x1) isIn = !isIn;
      }
    }
    return isIn;
  }

  private column(x: number): number {
    return Math.min(Math.max(Math.floor((x - this.left) / this.wide), 0), this.across - 1);
  }

  private row(y: number): number {
    return Math.min(Math.max(Math.floor((y - this.top) / this.high), 0), this.across - 1);
  }
}
