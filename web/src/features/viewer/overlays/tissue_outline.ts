/** The border between analysed and skipped areas, from tissue.png. */

/** Return lines as x0, y0, x1, y1 in mask px, merged along each row and column. `isIn` tests one pixel. */
export function traceOutline(isIn: (x: number, y: number) => boolean, width: number, height: number): Float32Array {
  const lines: number[] = [];
  const inside = (x: number, y: number) => x >= 0 && y >= 0 && x < width && y < height && isIn(x, y);
  for (let y = 0; y <= height; y += 1) {
    for (let x = 0; x < width; ) {
      const start = x;
      while (x < width && inside(x, y - 1) !== inside(x, y)) x += 1;
      if (x > start) lines.push(start, y, x, y);
      else x += 1;
    }
  }
  for (let x = 0; x <= width; x += 1) {
    for (let y = 0; y < height; ) {
      const start = y;
      while (y < height && inside(x - 1, y) !== inside(x, y)) y += 1;
      if (y > start) lines.push(x, start, x, y);
      else y += 1;
    }
  }
  return new Float32Array(lines);
}

/** Return the outline over the whole slide, in level-0 px. */
export async function loadTissueOutline(png: Blob, slide: { width: number; height: number }): Promise<Path2D> {
  const picture = await createImageBitmap(png);
  const { width, height } = picture;
  const context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
  if (context === null) throw new Error('This browser cannot draw the outline of the tissue.');
  context.drawImage(picture, 0, 0);
  picture.close();
  const { data } = context.getImageData(0, 0, width, height);
  const lines = traceOutline((x, y) => (data[(y * width + x) * 4] ?? 0) > 127, width, height);
  const path = new Path2D();
  for (let at = 0; at < lines.length; at += 4) {
    path.moveTo(((lines[at] ?? 0) * slide.width) / width, ((lines[at + 1] ?? 0) * slide.height) / height);
    path.lineTo(((lines[at + 2] ?? 0) * slide.width) / width, ((lines[at + 3] ?? 0) * slide.height) / height);
  }
  return path;
}
