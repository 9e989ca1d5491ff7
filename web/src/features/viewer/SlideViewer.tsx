import { useRef, useState } from 'react';
import { formatNumber } from '../../ui/format';
import { Problem } from '../../ui/messages/Problem';
import { usePanes } from './panes/pane_address';
import { formatScore, nameColumn } from './results/column_text';
import type { FoundObject, FoundObjects } from './results/found_objects';
import { describeMeasurement } from './results/measurement_text';
import { hasScores } from './results/output';
import { KeyboardHelp } from './navigation/KeyboardHelp';
import { OverlayPanel } from './overlays/OverlayPanel';
import { ObjectCard } from './panes/ObjectCard';
import { PaneChoice } from './panes/PaneChoice';
import type { Layers } from './overlays/paint_layers';
import type { Pyramid } from './engine/pyramid';
import { OBJECTS, TISSUE, useSlideJobs } from './results/queries';
import { ResultPanel } from './panes/ResultPanel';
import type { Tile } from './results/tile_scores';
import { DEFAULT_CHOICE, DEFAULT_SETTINGS, type OverlaySettings, type PaneState, showsTiles, usePaneState } from './panes/pane_state';
import { SlideStage } from './panes/SlideStage';
import { ZoomButtons } from './navigation/ZoomButtons';
import { TileCard } from './panes/TileCard';
import { useSyncedViews } from './navigation/sync_views';

const TILES_ACROSS = 6; // a tile that the user goes to fills a sixth of the stage

const SIDES = ['Left', 'Right'] as const;
const LABELS = ['Slide: arrow keys move it, plus and minus zoom, Enter reads the tile in the centre', 'Slide on the right: it moves with the left one'] as const;

/** The object that the user clicked: its number, and the side that shows it. */
type PickedObject = { side: number; of: FoundObjects; number: number } | null;

type Point = { x: number; y: number } | null; // level-0 px

/** The slide with one result, or in two panes that move together. */
export function SlideViewer({ slideId, pyramid }: { slideId: string; pyramid: Pyramid }) {
  const [panes, setPanes] = usePanes();
  const jobs = useSlideJobs(slideId);
  const [settings, setSettings] = useState(DEFAULT_SETTINGS);
  const [choices, setChoices] = useState([DEFAULT_CHOICE, DEFAULT_CHOICE] as const);
  const [point, setPoint] = useState<Point>(null);
  const [picked, setPicked] = useState<PickedObject>(null);
  const [isReadAloud, setReadAloud] = useState(false); // for what the keyboard points at
  const root = useRef<HTMLDivElement>(null);
  const { lead, attach, readStart, moveOthers, saveInAddress } = useSyncedViews();
  const left = usePaneState(panes[0], pyramid, slideId, settings, choices[0]);
  const right = usePaneState(panes[1] ?? null, pyramid, slideId, settings, choices[1]);
  const shown: readonly PaneState[] = panes.length === 2 ? [left, right] : [left];
  const results = shown.filter((_, side) => panes[side] != null);
  const withoutScores = results.filter(({ output }) => !hasScores(output));
  const has = (name: string) => shown.some(({ results }) => results?.files.some((file) => file.name === name));

  const pointAt = (next: Point, by: 'pointer' | 'key') => {
    setReadAloud(by === 'key');
    // Only when the tile or object changes: a pointer moves hundreds of times a second.
    const isSame = (held: Point) => (pane: PaneState) =>
      findCell(pane, held) === findCell(pane, next) && findObject(pane, held)?.number === findObject(pane, next)?.number;
    setPoint((held) => (shown.every(isSame(held)) ? held : next));
  };
  const goTo = ({ box: { x, y, width, height } }: Tile) => {
    const centre = { x: x + width / 2, y: y + height / 2 };
    if (lead !== null) lead.goTo({ ...centre, zoom: lead.frame().width / TILES_ACROSS / width });
    setPoint(centre);
    setReadAloud(true);
  };

  return (
    <div
      ref={root}
      className="flex flex-col gap-4 bg-surface lg:h-[max(26rem,calc(100dvh-11rem))] lg:flex-row [&:fullscreen]:h-full [&:fullscreen]:p-3"
    >
      <div className="flex h-[max(24rem,60dvh)] min-w-0 grow gap-2 lg:h-full">
        {shown.map((pane, side) => {
          const tile = findDrawnTile(pane, point, settings);
          const chosen = findPicked(pane, side, picked);
          const object = chosen ?? findObject(pane, point);
          const layers = withPickedObject({ ...pane.layers, marked: tile?.box ?? null }, object);
          return (
            <SlideStage
              key={side}
              slideId={slideId}
              pyramid={pyramid}
              label={LABELS[side] ?? ''}
              layers={layers}
              miniMap={side === 0}
              start={readStart}
              onEngine={(engine) => {
                attach(side, engine);
              }}
              onMove={(place) => {
                moveOthers(side, place);
              }}
              onRest={saveInAddress}
              onPoint={pointAt}
              onPick={(at) => {
                setPicked(at === null ? null : pickObject(pane, side, at));
              }}
            >
              {side === 0 && <ZoomButtons engine={lead} onFullScreen={() => void toggleFullScreen(root.current)} />}
              <div className="pointer-events-none absolute right-3 bottom-3 flex flex-col items-end gap-2">
                {object && <ObjectCard object={object} isChosen={chosen !== null} />}
                {tile && pane.results && <TileCard tile={tile} columns={pane.results.columns} shown={pane.column} />}
              </div>
            </SlideStage>
          );
        })}
      </div>
      <p role="status" className="sr-only">
        {isReadAloud && point !== null && shown.map((pane) => [describeTile(pane, findTile(pane, point)), describeObject(findObject(pane, point))].join(' ')).join(' ')}
      </p>
      <aside aria-label="Results" className="grid shrink-0 content-start items-start gap-3 px-1 md:grid-cols-2 md:gap-x-6 lg:w-80 lg:grid-cols-1 lg:overflow-y-auto">
        <Notes sentences={[pyramid.note, ...pyramid.warnings]} />
        {jobs.isError && <Problem error={jobs.error} onRetry={() => void jobs.refetch()} />}
        <PaneChoice jobs={jobs.data ?? []} panes={panes} onChange={setPanes} />
        {panes[0] !== null && (
          <OverlayPanel
            settings={settings}
            hasScores={results.some(({ output }) => hasScores(output))}
            tiles={withoutScores.length === 0 ? null : withoutScores.some(({ output }) => showsTiles(settings, output))}
            hasMask={has(TISSUE)} hasObjects={has(OBJECTS)}
            onChange={setSettings}
          />
        )}
        {shown.map((pane, place) =>
          panes[place] == null ? null : (
            <ResultPanel
              key={place}
              side={shown.length === 1 ? null : (SIDES[place] ?? null)}
              shown={pane}
              choice={choices[place] ?? DEFAULT_CHOICE}
              map={settings.map}
              onChoose={(choice) => {
                setChoices(([one, other]) => (place === 0 ? [choice, other] : [one, choice]));
              }}
              onGo={goTo}
            />
          ),
        )}
        <KeyboardHelp />
      </aside>
    </div>
  );
}

function pickObject({ layers: { objects } }: PaneState, side: number, { x, y }: { x: number; y: number }): PickedObject {
  const found = objects?.objects.findAt(x, y);
  return objects && found ? { side, of: objects.objects, number: found.number } : null;
}

/** Return the object that was clicked on this side, while its outlines are shown. */
function findPicked({ layers: { objects } }: PaneState, side: number, picked: PickedObject): FoundObject | null {
  return picked?.side === side && picked.of === objects?.objects ? picked.of.describe(picked.number) : null;
}

function withPickedObject(layers: Layers, object: FoundObject | null): Layers {
  const { objects } = layers;
  return objects === null || object === null ? layers : { ...layers, objects: { ...objects, picked: object.number } };
}

/** Notes and warnings about the slide's images. */
function Notes({ sentences }: { sentences: readonly (string | null)[] }) {
  const present = sentences.filter((sentence) => sentence !== null);
  if (present.length === 0) return null;
  return (
    <ul className="flex flex-col gap-1 rounded-md bg-warn-soft px-3 py-2 text-xs text-warn md:col-span-full">
      {present.map((sentence) => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  );
}

/** Describe a tile by its score in the class that is shown, for screen readers. */
function describeTile({ column, results }: PaneState, tile: Tile | null): string {
  if (results === null) return '';
  if (tile === null) return 'No tile was analysed here.';
  const where = `x ${formatNumber(tile.box.x)}, y ${formatNumber(tile.box.y)} px`;
  if (tile.scores === null) return `Could not be read: ${where}.`;
  if (column === undefined) return `Analysed: ${where}.`;
  return `${nameColumn(column)} ${formatScore(tile.scores[results.columns.indexOf(column)] ?? NaN, column)}, ${where}.`;
}

function describeObject(object: FoundObject | null): string {
  if (object === null) return '';
  const measurements = object.measurements.map(([label, value]) => describeMeasurement(label, value).join(' '));
  return `${[object.name, ...measurements].join(', ')}.`;
}

const findObject = ({ layers: { objects } }: PaneState, point: Point) => (point ? (objects?.objects.findAt(point.x, point.y) ?? null) : null);

const findCell = ({ results }: PaneState, point: Point) => (results && point ? results.scores.cellAt(point.x, point.y) : -1);

const findTile = (pane: PaneState, point: Point) => pane.results?.scores.tile(findCell(pane, point)) ?? null;

/** Return the tile at a point, unless it is one that is not drawn: an analysed one under outlines. */
function findDrawnTile(pane: PaneState, point: Point, settings: OverlaySettings): Tile | null {
  const tile = findTile(pane, point);
  return hasScores(pane.output) || tile?.scores === null || showsTiles(settings, pane.output) ? tile : null;
}

async function toggleFullScreen(element: HTMLElement | null): Promise<void> {
  if (document.fullscreenElement) await document.exitFullscreen();
  else await element?.requestFullscreen();
}
