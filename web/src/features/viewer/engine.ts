/** What the viewer needs of a library for deep zoom; openseadragon_engine.ts is the one. */
import type { Frame } from './paint';
import type { Place } from './place';
import type { Pyramid } from './pyramid';

export interface Opening {
  pyramid: Pyramid;
  label: string; // read aloud where the picture takes the focus
  start: Place | null; // null: all of it
  miniMap: boolean;
  tile: (level: number, x: number, y: number, signal: AbortSignal) => Promise<Blob>;
  paint: (context: CanvasRenderingContext2D, frame: Frame) => void; // over the slide, each time it is drawn
  onFrame: (frame: Frame) => void; // how the slide lies now
  onMove: (place: Place) => void; // where somebody is going, to be followed by another stage
  onRest: (place: Place) => void; // where they arrived
  onPick: (at: { x: number; y: number }) => void; // level-0 px that were clicked, or touched, without moving the slide
  onKey: (key: string) => void; // pressed while the slide has the focus, as a KeyboardEvent names it
  onProblem: (error: unknown) => void; // a tile did not come; null: all of them have come after all
}

export interface Engine {
  frame: () => Frame;
  place: () => Place; // where it will be once it rests
  goTo: (place: Place) => void;
  follow: (place: Place) => void; // at once, without saying so
  zoomBy: (factor: number) => void;
  home: () => void;
  redraw: () => void;
  retry: () => void; // asks again for tiles that did not come
  close: () => void;
}

export type OpenEngine = (element: HTMLElement, opening: Opening) => Promise<Engine>;
