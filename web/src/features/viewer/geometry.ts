/** Rectangles on the slide, and how the slide is placed on the screen. */

export interface Box {
  x: number; // level-0 px
  y: number;
  width: number;
  height: number;
}

/** The part of the slide that a stage shows. */
export interface Frame {
  left: number; // level-0 px at the corner of the stage
  top: number;
  scale: number; // px on the screen per level-0 px
  width: number; // of the stage, px on the screen
  height: number;
}

/** Convert a rectangle in level-0 px to px on the screen. */
export function toScreen({ x, y, width, height }: Box, { left, top, scale }: Frame): Box {
  return { x: (x - left) * scale, y: (y - top) * scale, width: width * scale, height: height * scale };
}
