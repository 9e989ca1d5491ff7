import type OpenSeadragon from 'openseadragon';
import type { Engine, OpenEngine, Opening } from './engine';
import type { Frame } from '../geometry';
import { MissingTiles } from './missing_tiles';
import { OverlayCanvas } from './overlay_canvas';
import { type Viewport, formatViewport } from '../navigation/viewport';
import type { Pyramid } from './pyramid';
import { SharedLoads } from './shared_loads';
import { makeTileSource } from './tile_source';

const MOST_ENLARGED = 4; // px on the screen per px of the finest level
const TILES_AT_ONCE = 8;
const TILES_KEPT = 400; // a decoded tile of 256 x 256 px takes 0.26 MB
const DISABLED_KEYS = new Set(['KeyR', 'KeyF', 'KeyJ', 'KeyK']); // OpenSeadragon's keys for rotating and flipping, which would mislead here
const KNOWN_KEYS = new Set(['Equal', 'Minus']); // OpenSeadragon finds + and - by their position on American keyboards
const KEY_STEP = 1.5;

type Bounds = [x: number, y: number, width: number, height: number];

let loading: ReturnType<typeof loadLibrary> | null = null;
const loadLibrary = () => import('openseadragon');

export const loadEngine = () => (loading ??= loadLibrary());

export const openEngine: OpenEngine = async (element, opening) => {
  const { pyramid } = opening;
  const tile = shareTileLoads(opening.tile); // the mini-map requests the same tiles as the stage
  const cancelPrefetch = prefetchCoarsestLevel(pyramid, tile);
  const { default: library } = await loadEngine();
  suppressStyleSheet();
  const missing = new MissingTiles(opening.onProblem);
  const { source, cancelAll } = makeTileSource(library, { pyramid, tile }, missing);
  const viewer = library({
    element,
    tileSources: source, // TileSource uses these functions
    drawer: 'canvas',
    showNavigationControl: false,
    showNavigator: opening.miniMap,
    navigatorPosition: 'TOP_RIGHT',
    navigatorAutoFade: false,
    navigatorSizeRatio: 0.16,
    navigatorOpacity: 1,
    navigatorBackground: 'var(--color-raised)',
    navigatorBorderColor: 'var(--color-line)',
    navigatorDisplayRegionColor: 'var(--color-accent)',
    maxZoomPixelRatio: MOST_ENLARGED / (pyramid.levels.at(-1)?.downsample ?? 1),
    imageLoaderLimit: TILES_AT_ONCE,
    maxImageCacheCount: TILES_KEPT,
    visibilityRatio: 0.3,
    animationTime: matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 0.4,
    gestureSettingsMouse: { clickToZoom: false, dblClickToZoom: true },
    gestureSettingsTouch: { clickToZoom: false, dblClickToZoom: true },
    gestureSettingsPen: { clickToZoom: false, dblClickToZoom: true },
  });
  labelParts(viewer, opening);
  const overlay = new OverlayCanvas(viewer.canvas);
  const frame = () => readFrame(viewer, pyramid);
  const viewers = () => (opening.miniMap ? [viewer, viewer.navigator] : [viewer]);
  let isFollowing = false;
  let reportedHash = ''; // so that the address stays as it was until somebody moves the slide
  const follow = (place: Viewport, immediately: boolean) => {
    const zoom = (place.zoom * pyramid.width) / viewer.viewport.getContainerSize().x;
    viewer.viewport.zoomTo(zoom, undefined, immediately);
    viewer.viewport.panTo(new library.Point(place.x / pyramid.width, place.y / pyramid.width), immediately);
  };
  const zoomBy = (factor: number) => {
    viewer.viewport.zoomBy(factor);
    viewer.viewport.applyConstraints();
  };
  /** Show the scanned area, if the file states it: the rest of the frame is empty. */
  const home = (immediately: boolean) => {
    const [x, y, width, height] = (pyramid.bounds ?? [0, 0, pyramid.width, pyramid.height]).map((px) => px / pyramid.width) as Bounds;
    viewer.viewport.fitBounds(new library.Rect(x, y, width, height), immediately);
  };
  const reportMove = () => {
    if (!isFollowing) opening.onMove(readViewport(viewer, pyramid));
  };
  const drawOverlay = (now: Frame) => {
    overlay.draw(now, (context) => {
      opening.paint(context, now);
    });
  };
  let isRedrawScheduled = false;
  let isClosed = false;
  const redraw = () => {
    if (isRedrawScheduled) return;
    isRedrawScheduled = true; // once per frame, however often a slider moves; the slide itself is not redrawn
    requestAnimationFrame(() => {
      isRedrawScheduled = false;
      if (!isClosed) drawOverlay(frame());
    });
  };
  viewer.addHandler('update-viewport', () => {
    const now = frame();
    drawOverlay(now);
    opening.onFrame(now);
  });
  viewer.addHandler('pan', reportMove);
  viewer.addHandler('zoom', reportMove);
  viewer.addHandler('animation-finish', () => {
    const place = readViewport(viewer, pyramid);
    if (reportedHash !== '' && reportedHash !== formatViewport(place)) opening.onRest(place);
    reportedHash = formatViewport(place);
  });
  viewer.addHandler('canvas-click', ({ quick, position }) => {
    const { left, top, scale } = frame();
    if (quick) opening.onPick({ x: left + position.x / scale, y: top + position.y / scale });
  });
  viewer.addHandler('canvas-key', (event) => {
    const { code, key } = event.originalEvent;
    opening.onKey(key);
    if (DISABLED_KEYS.has(code) || key === '0') event.preventDefaultAction = true;
    if (key === '0') home(false);
    if (!KNOWN_KEYS.has(code) && (key === '+' || key === '-')) zoomBy(key === '+' ? KEY_STEP : 1 / KEY_STEP);
  });
  await new Promise<void>((resolve) => {
    viewer.addOnceHandler('open', () => {
      home(true);
      if (opening.start) {
        follow(opening.start, true);
        viewer.viewport.applyConstraints(true); // an address may contain any numbers
      }
      reportedHash = formatViewport(readViewport(viewer, pyramid));
      viewer.world.getItemAt(0).addHandler('fully-loaded-change', () => {
        missing.reportWhenComplete(viewers());
      });
      resolve();
    });
  });
  const engine: Engine = {
    frame,
    viewport: () => readViewport(viewer, pyramid),
    goTo: (place) => {
      follow(place, false);
      viewer.viewport.applyConstraints();
    },
    follow: (place) => {
      isFollowing = true;
      follow(place, true);
      isFollowing = false;
    },
    zoomBy,
    home: () => {
      home(false);
    },
    redraw,
    retry: () => {
      missing.retry(viewers());
    },
    close: () => {
      isClosed = true;
      cancelPrefetch();
      cancelAll();
      viewer.destroy();
    },
  };
  return engine;
};

function shareTileLoads(tile: Opening['tile']): Opening['tile'] {
  const loads = new SharedLoads<Blob>();
  return (level, x, y, signal) => loads.get(`${level}/${x}_${y}`, (shared) => tile(level, x, y, shared), signal);
}

/** Request the coarsest level, which is drawn first, while the library loads. Return a function that cancels it. */
function prefetchCoarsestLevel({ levels: [coarsest] }: Pyramid, tile: Opening['tile']): () => void {
  const abort = new AbortController();
  const tiles = Math.min(coarsest ? coarsest.columns * coarsest.rows : 0, TILES_AT_ONCE);
  for (let number = 0; number < tiles && coarsest; number += 1) {
    const [x, y] = [number % coarsest.columns, Math.floor(number / coarsest.columns)];
    tile(0, x, y, abort.signal).catch(() => undefined); // the library requests it again, and reports the error
  }
  return () => {
    abort.abort();
  };
}

/** Keep OpenSeadragon from adding a style sheet: it adds none if one of this name exists, and the page's policy forbids inline styles. */
function suppressStyleSheet(): void {
  const name = 'data-openseadragon-mobile-css';
  if (document.querySelector(`style[${name}]`)) return;
  const none = document.createElementNS(null, 'style'); // without a namespace: the library finds it by name, and the browser applies nothing
  none.setAttribute(name, 'false');
  document.head.append(none);
}

function labelParts(viewer: OpenSeadragon.Viewer, { label, miniMap }: Opening): void {
  viewer.canvas.setAttribute('role', 'application');
  viewer.canvas.setAttribute('aria-label', label);
  if (miniMap) {
    viewer.navigator.element.setAttribute('aria-hidden', 'true'); // the keyboard moves the slide itself
    for (const part of viewer.navigator.element.querySelectorAll('[tabindex]')) part.setAttribute('tabindex', '-1');
  }
}

/** Return the visible part of the slide. OpenSeadragon's unit is the slide's width. */
function readFrame(viewer: OpenSeadragon.Viewer, pyramid: Pyramid): Frame {
  const bounds = viewer.viewport.getBounds(true);
  const { x: width, y: height } = viewer.viewport.getContainerSize();
  return {
    left: bounds.x * pyramid.width,
    top: bounds.y * pyramid.width,
    scale: width / (bounds.width * pyramid.width),
    width,
    height,
  };
}

/** Return where the movement will end. */
function readViewport(viewer: OpenSeadragon.Viewer, pyramid: Pyramid): Viewport {
  const centre = viewer.viewport.getCenter();
  const zoom = (viewer.viewport.getZoom() * viewer.viewport.getContainerSize().x) / pyramid.width;
  return { x: centre.x * pyramid.width, y: centre.y * pyramid.width, zoom };
}
