/** What lies over the slide, drawn anew for each frame: only what is in sight costs anything. */
import { type ObjectsLayer, paintObjects } from './paint_objects';
import type { Box, Grid, Scores } from './scores';

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
  unreadable: { picture: CanvasImageSource; scores: Scores } | null;
  tissue: Path2D | null; // level-0 px
  objects: ObjectsLayer | null;
  marked: Box | null; // the tile that is pointed at, or that was chosen
}

const INK = '#16202a';
const PAPER = '#ffffff';
const SMALLEST_HATCHED = 6; // px on the screen; below it the hatch would be noise
const HATCH = 8; // px from line to line, along the edge
const GREYNESS = 0.6; // opacity

/** Of a rectangle in level-0 px, on the screen. */
export function placed({ x, y, width, height }: Box, { left, top, scale }: Frame): Box {
  return { x: (x - left) * scale, y: (y - top) * scale, width: width * scale, height: height * scale };
}

export function paint(context: CanvasRenderingContext2D, frame: Frame, layers: Layers): void {
  const { heatmap, unreadable, tissue, objects, marked } = layers;
  if (heatmap !== null) paintCells(context, frame, heatmap.picture, heatmap.grid, heatmap.opacity);
  if (unreadable !== null) paintUnreadable(context, frame, unreadable);
  if (tissue !== null) paintPath(context, frame, tissue, 1.5);
  if (objects !== null) paintObjects(context, frame, objects);
  if (marked !== null) paintMark(context, placed(marked, frame));
}

/** Cells of the grid: columns from `left` and rows from `top` on, before `right` and `bottom`. */
interface Cells {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Whose boxes are in sight. */
export function cellsInSight(grid: Grid, { left, top, scale, width, height }: Frame): Cells {
  const first = (at: number, side: number, stride: number) => Math.max(Math.floor((at - side) / stride) + 1, 0);
  const end = (at: number, stride: number, most: number) => Math.min(Math.max(Math.ceil(at / stride), 0), most);
  return {
    left: first(left, grid.side, grid.stride),
    top: first(top, grid.side_y, grid.stride_y),
    right: end(left + width / scale, grid.stride, grid.columns),
    bottom: end(top + height / scale, grid.stride_y, grid.rows),
  };
}

/**
 * Enlarged cells stay sharp: a score belongs to its whole tile and to nothing between two of them. Where several share
 * a pixel of the screen they are averaged, so that none is left out.
 */
function paintCells(context: CanvasRenderingContext2D, frame: Frame, picture: CanvasImageSource, grid: Grid, opacity: number) {
  const { left, top, right, bottom } = cellsInSight(grid, frame);
  const [columns, rows] = [right - left, bottom - top];
  if (columns <= 0 || rows <= 0) return;
  const { stride, stride_y } = grid;
  const { x, y, width, height } = placed({ x: left * stride, y: top * stride_y, width: columns * stride, height: rows * stride_y }, frame);
  context.save();
  context.globalAlpha = opacity;
  context.imageSmoothingEnabled = Math.min(stride, stride_y) * frame.scale < 1;
  context.imageSmoothingQuality = 'medium';
  context.drawImage(picture, left, top, columns, rows, x, y, width, height);
  context.restore();
}

/** Hatched where there is room for lines, else grey. Lines go with the slide. */
function paintUnreadable(context: CanvasRenderingContext2D, frame: Frame, { picture, scores }: NonNullable<Layers['unreadable']>) {
  const { grid } = scores;
  const { left, top, scale, width, height } = frame;
  if (Math.min(grid.side, grid.side_y) * scale < SMALLEST_HATCHED) {
    paintCells(context, frame, picture, grid, GREYNESS);
    return;
  }
  const boxes = new Path2D();
  const sight = cellsInSight(grid, frame);
  for (let row = sight.top; row < sight.bottom; row += 1) {
    for (let cell = row * grid.columns + sight.left; cell < row * grid.columns + sight.right; cell += 1) {
      if (!scores.isUnreadable(cell)) continue;
      const box = placed(scores.box(cell), frame);
      boxes.rect(box.x, box.y, box.width, box.height);
    }
  }
  context.save();
  context.clip(boxes);
  context.fillStyle = `rgb(90 90 90 / ${GREYNESS})`;
  context.fillRect(0, 0, width, height);
  context.strokeStyle = PAPER;
  context.lineWidth = 1.5;
  context.beginPath();
  const begin = -(((left + top) * scale) % HATCH);
  for (let at = begin; at < width + height; at += HATCH) {
    context.moveTo(at, 0);
    context.lineTo(at - height, height);
  }
  context.stroke();
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
