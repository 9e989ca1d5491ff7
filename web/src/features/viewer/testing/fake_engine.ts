import type { Engine, OpenEngine, Opening } from '../engine/engine';
import type { Frame } from '../geometry';
import type { Viewport } from '../navigation/viewport';

/** An engine that paints nothing, and records how it was opened and moved. */
export class FakeEngine implements Engine {
  at: Viewport;

  constructor(readonly opening: Opening) {
    this.at = opening.start ?? { x: 1000, y: 1000, zoom: 0.1 };
  }

  frame(): Frame {
    return { left: this.at.x - 400 / this.at.zoom, top: this.at.y - 300 / this.at.zoom, scale: this.at.zoom, width: 800, height: 600 };
  }

  readonly viewport = () => this.at;
  readonly redraw = () => undefined;
  readonly retry = () => undefined;
  readonly close = () => undefined;

  readonly follow = (place: Viewport) => {
    this.at = place;
    this.opening.onFrame(this.frame());
  };

  readonly goTo = (place: Viewport) => {
    this.follow(place);
    this.opening.onMove(place);
    this.opening.onRest(place);
  };

  readonly zoomBy = (factor: number) => {
    this.goTo({ ...this.at, zoom: this.at.zoom * factor });
  };

  readonly home = () => {
    this.goTo({ x: 1000, y: 1000, zoom: 0.1 });
  };
}

export const openedEngines: FakeEngine[] = [];

export const loadEngine = () => Promise.resolve();

export const openEngine: OpenEngine = (_, opening) => {
  const engine = new FakeEngine(opening);
  openedEngines.push(engine);
  opening.onFrame(engine.frame());
  return Promise.resolve(engine);
};
