/** Paints outlines over the slide: as lines if few are visible, as an image of specks if many are. */
import type { FoundObjects } from '../results/found_objects';
import type { Frame } from '../geometry';

const MOST_OUTLINED = 3000; // visible objects; more would be specks on a screen anyway
const SPECKS = 2048; // px of the image of specks along its longer side
const LINE = 2; // px on the screen
const MOST_CASED = 200; // visible objects up to which each has a white edge, to stand out from tissue
const MARKED = 3; // px on the screen around the outline
const CASING = 'rgb(255 255 255 / 0.85)';
const FINEST = 1; // px on the screen between two drawn points of an outline

export interface ObjectsLayer {
  objects: FoundObjects;
  specks: { picture: CanvasImageSource; scale: number } | null; // px of the image per level-0 px
  picked: number | null;
}

/** Draw one pixel or more per object, in the colour of its class. Return null if this browser has no canvas. */
export function drawSpecks(objects: FoundObjects, slide: { width: number; height: number }): ObjectsLayer['specks'] {
  const canvas = document.createElement('canvas');
  const scale = Math.min(SPECKS / Math.max(slide.width, slide.height), 1);
  canvas.width = Math.ceil(slide.width * scale);
  canvas.height = Math.ceil(slide.height * scale);
  const context = canvas.getContext('2d');
  if (context === null) return null;
  const { classOf, classes } = objects.packed;
  for (let number = 0; number < objects.count; number += 1) {
    const { x, y, width, height } = objects.box(number);
    context.fillStyle = classes[classOf[number] ?? 0]?.colour ?? '';
    const side = [width * scale, height * scale].map((length) => Math.min(Math.max(Math.round(length), 1), 4));
    context.fillRect(Math.floor((x + width / 2) * scale), Math.floor((y + height / 2) * scale), side[0] ?? 1, side[1] ?? 1);
  }
  return { picture: canvas, scale };
}

export function paintObjects(context: CanvasRenderingContext2D, frame: Frame, { objects, specks, picked }: ObjectsLayer): void {
  const { left, top, scale, width, height } = frame;
  const area = { x: left, y: top, width: width / scale, height: height / scale };
  const byClass = new Map<number, number[]>();
  let count = 0;
  objects.forEachWithin(area, (number) => {
    count += 1;
    if (count > MOST_OUTLINED) return;
    const kind = objects.packed.classOf[number] ?? 0;
    const held = byClass.get(kind);
    if (held) held.push(number);
    else byClass.set(kind, [number]);
  });
  if (count > MOST_OUTLINED && specks !== null) {
    context.save();
    context.imageSmoothingEnabled = specks.scale > scale;
    context.drawImage(specks.picture, area.x * specks.scale, area.y * specks.scale, area.width * specks.scale, area.height * specks.scale, 0, 0, width, height);
    context.restore();
  } else {
    context.lineJoin = 'bevel'; // the fastest
    for (const [kind, numbers] of byClass) {
      context.beginPath();
      for (const number of numbers) trace(context, frame, objects, number);
      if (count <= MOST_CASED) stroke(context, CASING, LINE + 2);
      stroke(context, objects.packed.classes[kind]?.colour ?? '', LINE);
    }
  }
  if (picked !== null) paintPicked(context, frame, objects, picked);
}

function paintPicked(context: CanvasRenderingContext2D, frame: Frame, objects: FoundObjects, number: number): void {
  context.save();
  context.beginPath();
  context.rect(0, 0, frame.width, frame.height);
  trace(context, frame, objects, number);
  context.clip('evenodd'); // only outside, since the mark would cover a nucleus of a few px
  context.beginPath();
  trace(context, frame, objects, number);
  stroke(context, '#ffffff', 2 * MARKED + 3);
  stroke(context, '#16202a', 2 * MARKED);
  context.restore();
  stroke(context, objects.describe(number).colour, LINE);
}

function stroke(context: CanvasRenderingContext2D, colour: string, width: number): void {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke();
}

/** Add an outline to the path, without points that would coincide on the screen. */
function trace(context: CanvasRenderingContext2D, { left, top, scale }: Frame, objects: FoundObjects, number: number): void {
  const { points, rings, objects: firsts } = objects.packed;
  for (let ring = firsts[number] ?? 0; ring < (firsts[number + 1] ?? 0); ring += 1) {
    const [begin, end] = [rings[ring] ?? 0, rings[ring + 1] ?? 0];
    let [lastX, lastY] = [NaN, NaN];
    for (let at = begin; at < end; at += 1) {
      const x = ((points[at * 2] ?? 0) - left) * scale;
      const y = ((points[at * 2 + 1] ?? 0) - top) * scale;
      if (at === begin) context.moveTo(x, y);
      else if (Math.abs(x - lastX) + Math.abs(y - lastY) < FINEST) continue;
      else context.lineTo(x, y);
      [lastX, lastY] = [x, y];
    }
    context.closePath();
  }
}
