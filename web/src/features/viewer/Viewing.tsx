import { useRef, useState } from 'react';
import { number } from '../../ui/format';
import { Problem } from '../../ui/Problem';
import { usePanes } from './address';
import type { FoundObjects } from './found_objects';
import { Keys } from './Keys';
import { LookPanel } from './LookPanel';
import { ObjectCard } from './ObjectCard';
import { PaneChoice } from './PaneChoice';
import type { Layers } from './paint';
import type { Pyramid } from './pyramid';
import { OBJECTS, TISSUE, useJobsOf } from './queries';
import { ResultPanel } from './ResultPanel';
import type { Tile } from './scores';
import { CHOICE, SETTINGS, type Shown, useShown } from './shown';
import { Stage } from './Stage';
import { StageButtons } from './StageButtons';
import { TileCard } from './TileCard';
import { useTogether } from './together';

const SHARE = 6; // a tile that one goes to takes a sixth of the stage

const SIDES = ['Left', 'Right'] as const;
const LABELS = ['Slide: arrow keys move it, plus and minus zoom, Enter reads the tile in the middle', 'Slide on the right: it moves with the left one'] as const;

/** The object that was chosen, and on which side: its number. */
type Picked = { side: number; of: FoundObjects; number: number } | null;

type Point = { x: number; y: number } | null; // level-0 px

/** The slide with one result, or two panes of it that move together. */
export function Viewing({ slideId, pyramid }: { slideId: string; pyramid: Pyramid }) {
  const [panes, setPanes] = usePanes();
  const jobs = useJobsOf(slideId);
  const [settings, setSettings] = useState(SETTINGS);
  const [choices, setChoices] = useState([CHOICE, CHOICE] as const);
  const [point, setPoint] = useState<Point>(null);
  const [picked, setPicked] = useState<Picked>(null);
  const [isRead, setRead] = useState(false); // aloud: what keys point at
  const root = useRef<HTMLDivElement>(null);
  const { lead, hold, start, move, rest } = useTogether();
  const left = useShown(panes[0], pyramid, slideId, settings, choices[0]);
  const right = useShown(panes[1] ?? null, pyramid, slideId, settings, choices[1]);
  const shown: readonly Shown[] = panes.length === 2 ? [left, right] : [left];
  const has = (name: string) => shown.some(({ outcome }) => outcome?.files.some((file) => file.name === name));

  const pointAt = (next: Point, by: 'pointer' | 'key') => {
    setRead(by === 'key');
    // Anew only where it is another tile: a pointer moves hundreds of times a second.
    setPoint((held) => (shown.every((pane) => cellAt(pane, held) === cellAt(pane, next)) ? held : next));
  };
  const goTo = ({ box: { x, y, width, height } }: Tile) => {
    const centre = { x: x + width / 2, y: y + height / 2 };
    if (lead !== null) lead.goTo({ ...centre, zoom: lead.frame().width / SHARE / width });
    setPoint(centre);
    setRead(true);
  };

  return (
    <div
      ref={root}
      className="flex flex-col gap-4 bg-surface lg:h-[max(26rem,calc(100dvh-11rem))] lg:flex-row [&:fullscreen]:h-full [&:fullscreen]:p-3"
    >
      <div className="flex h-[max(24rem,60dvh)] min-w-0 grow gap-2 lg:h-full">
        {shown.map((pane, side) => {
          const tile = tileAt(pane, point);
          const layers = chosen({ ...pane.layers, marked: tile?.box ?? null }, side, picked);
          const { objects } = layers;
          return (
            <Stage
              key={side}
              slideId={slideId}
              pyramid={pyramid}
              label={LABELS[side] ?? ''}
              layers={layers}
              miniMap={side === 0}
              start={start}
              onEngine={(engine) => {
                hold(side, engine);
              }}
              onMove={(place) => {
                move(side, place);
              }}
              onRest={rest}
              onPoint={pointAt}
              onPick={(at) => {
                setPicked(at === null ? null : pick(pane, side, at));
              }}
            >
              {side === 0 && <StageButtons engine={lead} onFullScreen={() => void toggleFullScreen(root.current)} />}
              <div className="pointer-events-none absolute right-3 bottom-3 flex flex-col items-end gap-2">
                {objects?.picked != null && <ObjectCard object={objects.objects.object(objects.picked)} />}
                {tile && pane.outcome && <TileCard tile={tile} columns={pane.outcome.columns} shown={pane.column} />}
              </div>
            </Stage>
          );
        })}
      </div>
      <p role="status" className="sr-only">
        {isRead && point !== null && shown.map((pane) => spoken(pane, tileAt(pane, point))).join(' ')}
      </p>
      <aside aria-label="Results" className="grid shrink-0 content-start items-start gap-3 px-1 md:grid-cols-2 md:gap-x-6 lg:w-80 lg:grid-cols-1 lg:overflow-y-auto">
        <Notes sentences={[pyramid.note, ...pyramid.warnings]} />
        {jobs.isError && <Problem error={jobs.error} onRetry={() => void jobs.refetch()} />}
        <PaneChoice jobs={jobs.data ?? []} panes={panes} onChange={setPanes} />
        {panes[0] !== null && (
          <LookPanel settings={settings} hasMask={has(TISSUE)} hasObjects={has(OBJECTS)} onChange={setSettings} />
        )}
        {shown.map((pane, place) =>
          panes[place] == null ? null : (
            <ResultPanel
              key={place}
              side={shown.length === 1 ? null : (SIDES[place] ?? null)}
              shown={pane}
              choice={choices[place] ?? CHOICE}
              map={settings.map}
              onChoose={(choice) => {
                setChoices(([one, other]) => (place === 0 ? [choice, other] : [one, choice]));
              }}
              onGo={goTo}
            />
          ),
        )}
        <Keys />
      </aside>
    </div>
  );
}

function pick({ layers: { objects } }: Shown, side: number, { x, y }: { x: number; y: number }): Picked {
  const found = objects?.objects.at(x, y);
  return objects && found ? { side, of: objects.objects, number: found.number } : null;
}

/** With the object that was chosen on this side, as long as its outlines are shown. */
function chosen(layers: Layers, side: number, picked: Picked): Layers {
  const { objects } = layers;
  if (objects === null || picked?.side !== side || picked.of !== objects.objects) return layers;
  return { ...layers, objects: { ...objects, picked: picked.number } };
}

/** What the picture lacks. */
function Notes({ sentences }: { sentences: readonly (string | null)[] }) {
  const said = sentences.filter((sentence) => sentence !== null);
  if (said.length === 0) return null;
  return (
    <ul className="flex flex-col gap-1 rounded-md bg-warn-soft px-3 py-2 text-xs text-warn md:col-span-full">
      {said.map((sentence) => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  );
}

/** A tile in a sentence, of the class that is shown. */
function spoken({ column, outcome }: Shown, tile: Tile | null): string {
  if (column === undefined || outcome === null) return '';
  if (tile === null) return 'No tile was analysed here.';
  const where = `x ${number(tile.box.x)}, y ${number(tile.box.y)} px`;
  const score = tile.scores?.[outcome.columns.indexOf(column)];
  return score === undefined ? `Could not be read: ${where}.` : `${column.name} ${number(score, 4)}, ${where}.`;
}

const cellAt = ({ outcome }: Shown, point: Point) => (outcome && point ? outcome.scores.cellAt(point.x, point.y) : -1);

const tileAt = (pane: Shown, point: Point) => pane.outcome?.scores.tile(cellAt(pane, point)) ?? null;

async function toggleFullScreen(element: HTMLElement | null): Promise<void> {
  if (document.fullscreenElement) await document.exitFullscreen();
  else await element?.requestFullscreen();
}
