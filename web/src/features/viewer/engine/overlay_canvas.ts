import type { Frame } from '../geometry';

/** A canvas over the slide, at the resolution of the screen. */
export class OverlayCanvas {
  private readonly canvas = document.createElement('canvas');

  constructor(parent: HTMLElement) {
    this.canvas.dataset['overlay'] = '';
    this.canvas.setAttribute('aria-hidden', 'true');
    this.canvas.className = 'pointer-events-none absolute inset-0 size-full';
    parent.append(this.canvas);
  }

  draw({ width, height }: Frame, paint: (context: CanvasRenderingContext2D) => void): void {
    const context = this.canvas.getContext('2d');
    if (context === null) return;
    const ratio = window.devicePixelRatio;
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, wide, high);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint(context);
  }
}
