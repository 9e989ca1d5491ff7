/** Paints the layers over the slide, for each frame: only the visible part is drawn. */
import { type ObjectsLayer, paintObjects } from './paint_objects';
import { type Box, type Frame, toScreen } from '../geometry';
import type { Grid, TileScores } from '../results/tile_scores';

export interface Layers {
  heatmap: { picture: CanvasImageSource; grid: Grid; opacity: number } | null;
  analysed: { picture: CanvasImageSource; scores: TileScores } | null; // tiles without scores
  unreadable: { picture: CanvasImageSource; scores: TileScores } | null;
  tissue: Path2D | null; // level-0 px
  objects: ObjectsLayer | null;
  marked: Box | null; // the tile under the pointer, or the one that was chosen
}

const INK = '#16202a';
const PAPER = '#ffffff';
const SMALLEST_HATCHED = 6; // px on the screen; below this the hatch would be noise
const HATCH = 8; // px between lines, along the edge
const UNREADABLE_OPACITY = 0.6;
const ANALYSED_OPACITY = 0.16;
const ANALYSED_EDGE = 'rgb(0 114 178 / 0.8)';
const SMALLEST_EDGED = 12; // px on the screen; below this edges would hide the slide

export function paintLayers(context: CanvasRenderingContext2D, frame: Frame, layers: Layers): void {
  const { heatmap, analysed, unreadable, tissue, objects, marked } = layers;
  if (heatmap !== null) paintCells(context, frame, heatmap.picture, heatmap.grid, heatmap.opacity);
  if (analysed !== null) paintAnalysed(context, frame, analysed);
  if (unreadable !== null) paintUnreadable(context, frame, unreadable);
  if (tissue !== null) paintPath(context, frame, tissue, 1.5);
  if (objects !== null) paintObjects(context, frame, objects);
  if (marked !== null) paintMark(context, toScreen(marked, frame));
}

/** Grid cells: columns from `left` to before `right`, and rows from `top` to before `bottom`. */
interface CellRange {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Return the cells whose boxes are visible. */
export function findVisibleCells(grid: Grid, { left, top, scale, width, height }: Frame): CellRange {
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
 * Paint the visible cells of an image. Enlarged cells stay sharp, since a score belongs to its whole tile. Cells that
 * share a pixel of the screen are averaged, so that each contributes.
 */
function paintCells(context: CanvasRenderingContext2D, frame: Frame, picture: CanvasImageSource, grid: Grid, opacity: number) {
  const { left, top, right, bottom } = findVisibleCells(grid, frame);
  const [columns, rows] = [right - left, bottom - top];
  if (columns <= 0 || rows <= 0) return;
  const { stride, stride_y } = grid;
  const { x, y, width, height } = toScreen({ x: left * stride, y: top * stride_y, width: columns * stride, height: rows * stride_y }, frame);
  context.save();
  context.globalAlpha = opacity;
  context.imageSmoothingEnabled = Math.min(stride, stride_y) * frame.scale < 1;
  context.imageSmoothingQuality = 'medium';
  context.drawImage(picture, left, top, columns, rows, x, y, width, height);
  context.restore();
}

/** Paint analysed tiles that have no scores: a tint, and edges where there is room for them. */
function paintAnalysed(context: CanvasRenderingContext2D, frame: Frame, { picture, scores }: NonNullable<Layers['analysed']>) {
  const { grid } = scores;
  paintCells(context, frame, picture, grid, ANALYSED_OPACITY);
  if (Math.min(grid.side, grid.side_y) * frame.scale < SMALLEST_EDGED) return;
  context.strokeStyle = ANALYSED_EDGE;
  context.lineWidth = 1;
  context.stroke(traceBoxes(frame, scores, (cell) => scores.isAnalysed(cell)));
}

/** Return the boxes of the visible cells that are `wanted`, in px on the screen. */
function traceBoxes(frame: Frame, scores: TileScores, wanted: (cell: number) => boolean): Path2D {
  const { grid } = scores;
  const boxes = new Path2D();
  const sight = findVisibleCells(grid, frame);
  for (let row = sight.top; row < sight.bottom; row += 1) {
    for (let cell = row * grid.columns + sight.left; cell < row * grid.columns + sight.right; cell += 1) {
      if (!wanted(cell)) continue;
      const box = toScreen(scores.box(cell), frame);
      boxes.rect(box.x, box.y, box.width, box.height);
    }
  }
  return boxes;
}

/** Paint unreadable tiles: hatched where there is room for lines, else grey. The lines move with the slide. */
function paintUnreadable(context: CanvasRenderingContext2D, frame: Frame, { picture, scores }: NonNullable<Layers['unreadable']>) {
  const { grid } = scores;
  const { left, top, scale, width, height } = frame;
  if (Math.min(grid.side, grid.side_y) * scale < SMALLEST_HATCHED) {
    paintCells(context, frame, picture, grid, UNREADABLE_OPACITY);
    return;
  }
  context.save();
  context.clip(traceBoxes(frame, scores, (cell) => scores.isUnreadable(cell)));
  context.fillStyle = `rgb(90 90 90 / ${UNREADABLE_OPACITY})`;
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

/** Stroke a path dark on light, with a constant width on the screen, so that it is visible on glass and on tissue. */
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
