import type OpenSeadragon from 'openseadragon';
import type { Engine, OpenEngine, Opening } from './engine';
import type { Frame } from './paint';
import { MissingTiles } from './missing_tiles';
import { OverlayCanvas } from './overlay_canvas';
import { type Place, hashOf } from './place';
import type { Pyramid } from './pyramid';
import { SharedLoads } from './shared_loads';
import { tileSource } from './tile_source';

const MOST_ENLARGED = 4; // px on the screen a px of the finest level that there is
const TILES_AT_ONCE = 8;
const TILES_KEPT = 400; // decoded ones of 256 x 256 px are 0.26 MB each
const OTHERS_KEYS = new Set(['KeyR', 'KeyF', 'KeyJ', 'KeyK']); // of OpenSeadragon: turning and flipping mislead here
const KNOWN_KEYS = new Set(['Equal', 'Minus']); // it knows + and - by their place on American keyboards
const KEY_STEP = 1.5;

type Bounds = [x: number, y: number, width: number, height: number];

let loading: ReturnType<typeof loadLibrary> | null = null;
const loadLibrary = () => import('openseadragon');

export const loadEngine = () => (loading ??= loadLibrary());

export const openEngine: OpenEngine = async (element, opening) => {
  const { pyramid } = opening;
  const tile = sharedTiles(opening.tile); // the mini-map asks for what the stage asks for
  const leaveAhead = askAhead(pyramid, tile);
  const { default: library } = await loadEngine();
  keepStylesOut();
  const missing = new MissingTiles(opening.onProblem);
  const { source, leave } = tileSource(library, { pyramid, tile }, missing);
  const viewer = library({
    element,
    tileSources: source, // TileSource takes what it needs from these functions
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
  nameParts(viewer, opening);
  const overlay = new OverlayCanvas(viewer.canvas);
  const frame = () => frameOf(viewer, pyramid);
  const viewers = () => (opening.miniMap ? [viewer, viewer.navigator] : [viewer]);
  let isFollowing = false;
  let said = ''; // of where it rests: the address of a slide that nobody moved stays as it was
  const follow = (place: Place, immediately: boolean) => {
    const zoom = (place.zoom * pyramid.width) / viewer.viewport.getContainerSize().x;
    viewer.viewport.zoomTo(zoom, undefined, immediately);
    viewer.viewport.panTo(new library.Point(place.x / pyramid.width, place.y / pyramid.width), immediately);
  };
  const zoomBy = (factor: number) => {
    viewer.viewport.zoomBy(factor);
    viewer.viewport.applyConstraints();
  };
  /** What was scanned, where the file tells: the rest of the frame is empty. */
  const home = (immediately: boolean) => {
    const [x, y, width, height] = (pyramid.bounds ?? [0, 0, pyramid.width, pyramid.height]).map((px) => px / pyramid.width) as Bounds;
    viewer.viewport.fitBounds(new library.Rect(x, y, width, height), immediately);
  };
  const say = () => {
    if (!isFollowing) opening.onMove(placeOf(viewer, pyramid));
  };
  const drawOverlay = (now: Frame) => {
    overlay.draw(now, (context) => {
      opening.paint(context, now);
    });
  };
  let isDue = false;
  let isClosed = false;
  const redraw = () => {
    if (isDue) return;
    isDue = true; // once a frame, however often a slider moves; the slide itself is not drawn anew
    requestAnimationFrame(() => {
      isDue = false;
      if (!isClosed) drawOverlay(frame());
    });
  };
  viewer.addHandler('update-viewport', () => {
    const now = frame();
    drawOverlay(now);
    opening.onFrame(now);
  });
  viewer.addHandler('pan', say);
  viewer.addHandler('zoom', say);
  viewer.addHandler('animation-finish', () => {
    const place = placeOf(viewer, pyramid);
    if (said !== '' && said !== hashOf(place)) opening.onRest(place);
    said = hashOf(place);
  });
  viewer.addHandler('canvas-click', ({ quick, position }) => {
    const { left, top, scale } = frame();
    if (quick) opening.onPick({ x: left + position.x / scale, y: top + position.y / scale });
  });
  viewer.addHandler('canvas-key', (event) => {
    const { code, key } = event.originalEvent;
    opening.onKey(key);
    if (OTHERS_KEYS.has(code) || key === '0') event.preventDefaultAction = true;
    if (key === '0') home(false);
    if (!KNOWN_KEYS.has(code) && (key === '+' || key === '-')) zoomBy(key === '+' ? KEY_STEP : 1 / KEY_STEP);
  });
  await new Promise<void>((resolve) => {
    viewer.addOnceHandler('open', () => {
      home(true);
      if (opening.start) {
        follow(opening.start, true);
        viewer.viewport.applyConstraints(true); // an address may say anything
      }
      said = hashOf(placeOf(viewer, pyramid));
      viewer.world.getItemAt(0).addHandler('fully-loaded-change', () => {
        missing.settle(viewers());
      });
      resolve();
    });
  });
  const engine: Engine = {
    frame,
    place: () => placeOf(viewer, pyramid),
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
      missing.askAgain(viewers());
    },
    close: () => {
      isClosed = true;
      leaveAhead();
      leave();
      viewer.destroy();
    },
  };
  return engine;
};

function sharedTiles(tile: Opening['tile']): Opening['tile'] {
  const loads = new SharedLoads<Blob>();
  return (level, x, y, signal) => loads.get(`${level}/${x}_${y}`, (leaving) => tile(level, x, y, leaving), signal);
}

/** The coarsest level, which is drawn first, is asked for while the library is read. Returns how to leave it. */
function askAhead({ levels: [coarsest] }: Pyramid, tile: Opening['tile']): () => void {
  const leaving = new AbortController();
  const tiles = Math.min(coarsest ? coarsest.columns * coarsest.rows : 0, TILES_AT_ONCE);
  for (let number = 0; number < tiles && coarsest; number += 1) {
    const [x, y] = [number % coarsest.columns, Math.floor(number / coarsest.columns)];
    tile(0, x, y, leaving.signal).catch(() => undefined); // the library asks again, and tells of it
  }
  return () => {
    leaving.abort();
  };
}

/** OpenSeadragon adds a style sheet where it finds none of this name; the page's policy has no inline styles. */
function keepStylesOut(): void {
  const name = 'data-openseadragon-mobile-css';
  if (document.querySelector(`style[${name}]`)) return;
  const none = document.createElementNS(null, 'style'); // of no namespace: found by its name, and no sheet
  none.setAttribute(name, 'false');
  document.head.append(none);
}

function nameParts(viewer: OpenSeadragon.Viewer, { label, miniMap }: Opening): void {
  viewer.canvas.setAttribute('role', 'application');
  viewer.canvas.setAttribute('aria-label', label);
  if (miniMap) {
    viewer.navigator.element.setAttribute('aria-hidden', 'true'); // the keyboard moves the slide itself
    for (const part of viewer.navigator.element.querySelectorAll('[tabindex]')) part.setAttribute('tabindex', '-1');
  }
}

/** The viewport's unit is the slide's width. */
function frameOf(viewer: OpenSeadragon.Viewer, pyramid: Pyramid): Frame {
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

/** Where it will be once it has come to rest. */
function placeOf(viewer: OpenSeadragon.Viewer, pyramid: Pyramid): Place {
  const centre = viewer.viewport.getCenter();
  const zoom = (viewer.viewport.getZoom() * viewer.viewport.getContainerSize().x) / pyramid.width;
  return { x: centre.x * pyramid.width, y: centre.y * pyramid.width, zoom };
}
