/** What lies over the slide, drawn anew for each frame: only what is in sight costs anything. */
import type { Box, Grid } from './scores';

/** How the slide lies on the screen. */
export interface Frame {
  left: number; // level-0 px at the corner of the stage
  top: number;
  scale: number; // px on the screen a level-0 px
  width: number; // of the stage, px on the screen
  height: number;
}

export interface Layers {
  heatmap: { picture: CanvasImageSource; grid: Grid; opacity: number } | null;
  unreadable: readonly Box[];
  tissue: Path2D | null; // level-0 px
  objects: Path2D | null;
  marked: Box | null; // the tile that is pointed at, or that was chosen
}

const INK = '#16202a';
const PAPER = '#ffffff';
const SMALLEST_HATCHED = 6; // px on the screen; below it the hatch would be noise
const HATCH = 8; // px from line to line

/** Of a rectangle in level-0 px, on the screen. */
export function placed({ x, y, width, height }: Box, { left, top, scale }: Frame): Box {
  return { x: (x - left) * scale, y: (y - top) * scale, width: width * scale, height: height * scale };
}

export function paint(context: CanvasRenderingContext2D, frame: Frame, layers: Layers): void {
  const { heatmap, unreadable, tissue, objects, marked } = layers;
  if (heatmap !== null) paintHeatmap(context, frame, heatmap);
  const inSight = unreadable.map((box) => placed(box, frame)).filter((box) => isInSight(box, frame));
  for (const box of inSight) paintHatch(context, box);
  if (tissue !== null) paintPath(context, frame, tissue, 1.5);
  if (objects !== null) paintPath(context, frame, objects, 1.5);
  if (marked !== null) paintMark(context, placed(marked, frame));
}

/** Cells stay sharp: a score belongs to its whole tile and to nothing between two of them. */
function paintHeatmap(context: CanvasRenderingContext2D, frame: Frame, { picture, grid, opacity }: NonNullable<Layers['heatmap']>) {
  const whole = { x: 0, y: 0, width: grid.columns * grid.stride, height: grid.rows * grid.stride_y };
  const { x, y, width, height } = placed(whole, frame);
  context.save();
  context.globalAlpha = opacity;
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, x, y, width, height);
  context.restore();
}

function isInSight({ x, y, width, height }: Box, frame: Frame): boolean {
  return x < frame.width && y < frame.height && x + width > 0 && y + height > 0;
}

function paintHatch(context: CanvasRenderingContext2D, { x, y, width, height }: Box): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.fillStyle = 'rgb(90 90 90 / 0.6)';
  context.fillRect(x, y, width, height);
  if (Math.min(width, height) >= SMALLEST_HATCHED) {
    context.strokeStyle = PAPER;
    context.lineWidth = 1.5;
    context.beginPath();
    for (let at = -height; at < width; at += HATCH) {
      context.moveTo(x + at, y + height);
      context.lineTo(x + at + height, y);
    }
    context.stroke();
  }
  context.restore();
}

/** Dark on light on the screen's own width of line, so that it is seen on glass and on tissue. */
function paintPath(context: CanvasRenderingContext2D, { left, top, scale }: Frame, path: Path2D, width: number): void {
  context.save();
  context.scale(scale, scale);
  context.translate(-left, -top);
  context.lineJoin = 'round';
  for (const [colour, wide] of [[PAPER, width + 1.5], [INK, width]] as const) {
    context.strokeStyle = colour;
    context.lineWidth = wide / scale;
    context.stroke(path);
  }
  context.restore();
}

function paintMark(context: CanvasRenderingContext2D, { x, y, width, height }: Box): void {
  for (const [colour, wide] of [[PAPER, 4], [INK, 2]] as const) {
    context.strokeStyle = colour;
    context.lineWidth = wide;
    context.strokeRect(x, y, width, height);
  }
}
