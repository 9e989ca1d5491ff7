/** The interface that the viewer needs from a deep-zoom library; openseadragon_engine.ts implements it. */
import type { Frame } from '../geometry';
import type { Viewport } from '../navigation/viewport';
import type { Pyramid } from './pyramid';

export interface Opening {
  pyramid: Pyramid;
  label: string; // read aloud when the slide takes the focus
  start: Viewport | null; // null: the whole slide
  miniMap: boolean;
  tile: (level: number, x: number, y: number, signal: AbortSignal) => Promise<Blob>;
  paint: (context: CanvasRenderingContext2D, frame: Frame) => void; // called over the slide, each time it is drawn
  onFrame: (frame: Frame) => void; // the part of the slide that is visible now
  onMove: (place: Viewport) => void; // where the user is going; another stage follows
  onRest: (place: Viewport) => void; // where the movement ended
  onPick: (at: { x: number; y: number }) => void; // level-0 px that the user clicked or tapped, without moving the slide
  onKey: (key: string) => void; // pressed while the slide has the focus, as a KeyboardEvent names it
  onProblem: (error: unknown) => void; // a tile failed to load; null: all have loaded after all
}

export interface Engine {
  frame: () => Frame;
  viewport: () => Viewport; // where the movement will end
  goTo: (place: Viewport) => void;
  follow: (place: Viewport) => void; // at once, without calling onMove
  zoomBy: (factor: number) => void;
  home: () => void;
  redraw: () => void;
  retry: () => void; // requests missing tiles again
  close: () => void;
}

export type OpenEngine = (element: HTMLElement, opening: Opening) => Promise<Engine>;
