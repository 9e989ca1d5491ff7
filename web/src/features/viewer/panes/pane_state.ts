/** The state of a pane: its job, the job's results, and the layers that are drawn over the slide. */
import { useMemo, useState } from 'react';
import { useJob } from '../../../api/live/use_job';
import type { ColourMap } from '../overlays/colour_maps';
import type { TileResults } from '../results/load_results';
import type { Layers } from '../overlays/paint_layers';
import { usePartialResults } from '../results/use_partial_results';
import { CellImage, colourAnalysed, colourScores, colourUnreadable } from '../overlays/cell_image';
import type { Pyramid } from '../engine/pyramid';
import { type Range, chooseRange } from '../results/column_text';
import { type OutputKind, hasScores } from '../results/output';
import { type Job, isTransient, useFinalResults, useFoundObjects, useTissueOutline } from '../results/queries';
import type { Column } from '../results/tile_scores';

/** How overlays are drawn, in all panes. */
export interface OverlaySettings {
  heatmap: boolean;
  opacity: number; // 0 to 1
  map: ColourMap;
  tissue: boolean;
  objects: boolean;
  tiles: boolean | null; // of results without scores; null: as suits them
}

const NO_RANGE: Range = { low: 0, high: 1 };

/** The column that one pane shows, and its threshold. */
export interface ColumnChoice {
  column: number;
  threshold: number | null; // null: the lowest value of the column
}

export const DEFAULT_SETTINGS: OverlaySettings = { heatmap: true, opacity: 0.6, map: 'viridis', tissue: false, objects: true, tiles: null };
/** Whether the tiles of a result without scores are drawn: of objects, the outlines say more. */
export const showsTiles = ({ tiles }: OverlaySettings, output: OutputKind | null) => tiles ?? output === 'embedding';

export const DEFAULT_CHOICE: ColumnChoice = { column: 0, threshold: null };

export interface PaneState {
  job: Job | undefined;
  results: TileResults | null;
  output: OutputKind | null; // null: not known yet
  column: Column | undefined; // the one that is shown; none if tiles have no scores
  range: Range; // that its colours span
  tiles: number; // loaded so far
  layers: Layers;
  isWaiting: boolean; // scores are still to come
  isLoadingObjects: boolean;
  error: unknown; // null: no error
  retry: () => void;
}

export function usePaneState(jobId: string | null, pyramid: Pyramid, slideId: string, settings: OverlaySettings, choice: ColumnChoice): PaneState {
  const live = useJob(jobId);
  const isOfOtherSlide = live.job !== undefined && live.job.slide_id !== slideId;
  const isOfOtherImage = live.job !== undefined && !isSameImage(live.job.options['choice'], pyramid.choice);
  const job = isOfOtherSlide || isOfOtherImage ? undefined : live.job;
  const final = useFinalResults(job);
  const growing = usePartialResults(job);
  const tissue = useTissueOutline(job, pyramid, settings.tissue);
  const objects = useFoundObjects(job, pyramid, settings.objects);
  const results = final.data ?? growing.results;
  const tiles = final.data ? final.data.scores.count + final.data.scores.unreadableCount : growing.tiles;
  const output = results?.output ?? growing.output;
  const column = results?.columns[choice.column] ?? results?.columns[0];
  const threshold = choice.threshold ?? -Infinity;
  const { map } = settings;
  const [pictures] = useState(() => ({ scores: new CellImage(), analysed: new CellImage(), unreadable: new CellImage() }));
  const values = useMemo(
    () => (results === null || column === undefined || tiles === 0 ? null : results.scores.columnValues(results.columns.indexOf(column))),
    [results, column, tiles], // `tiles`: the scores grow in place
  );
  const range = useMemo(() => (column === undefined ? NO_RANGE : chooseRange(column, values)), [column, values]);
  const heatmap = useMemo(() => {
    if (values === null || results === null || column === undefined) return null;
    const { grid } = results.scores;
    const picture = pictures.scores.paint(grid, (pixels) => {
      colourScores(pixels, values, range, { map, threshold });
    });
    return picture && { picture, grid };
  }, [pictures, values, results, column, range, map, threshold]);
  const analysed = useMemo(() => {
    if (results === null || hasScores(results.output)) return null;
    const { scores } = results;
    const picture = pictures.analysed.paint(scores.grid, (pixels) => {
      colourAnalysed(pixels, scores);
    });
    return picture && { picture, scores };
  }, [pictures, results]);
  const unreadable = useMemo(() => {
    if (results === null || tiles === 0 || results.scores.unreadableCount === 0) return null;
    const { scores } = results;
    const picture = pictures.unreadable.paint(scores.grid, (pixels) => {
      colourUnreadable(pixels, scores);
    });
    return picture && { picture, scores };
  }, [pictures, results, tiles]);
  const layers = useMemo<Layers>(
    () => ({
      heatmap: settings.heatmap && heatmap ? { ...heatmap, opacity: settings.opacity } : null,
      analysed: showsTiles(settings, output) ? analysed : null,
      unreadable: (hasScores(output) ? settings.heatmap : settings.tiles !== false) ? unreadable : null,
      tissue: (settings.tissue && tissue.data) || null,
      objects: settings.objects && objects.data ? { ...objects.data, picked: null } : null,
      marked: null,
    }),
    [heatmap, analysed, unreadable, output, settings, tissue.data, objects.data],
  );
  const mismatch = isOfOtherSlide
    ? new Error('This job analysed another slide. Choose a job of this slide.')
    : isOfOtherImage
      ? new Error('This job analysed another image of the slide. Its results are on the job’s page.')
      : null;
  return {
    job,
    results,
    output,
    column,
    range,
    tiles,
    layers,
    isWaiting: (jobId !== null && live.job === undefined && live.error === null) || final.isLoading || (job !== undefined && results === null && isTransient(job) && hasScores(output)),
    isLoadingObjects: objects.isLoading,
    error: mismatch ?? live.error ?? final.error ?? growing.error ?? tissue.error ?? objects.error,
    retry: () => {
      if (live.error !== null) live.restart();
      for (const query of [final, tissue, objects]) if (query.isError) void query.refetch();
    },
  };
}

/** Whether two choices name the same image of a slide: results belong only on the image that the job analysed. */
function isSameImage(one: unknown, other: unknown): boolean {
  return ['optical_path', 'focal_plane', 'picture'].every((field) => readChosen(one, field) === readChosen(other, field));
}

const readChosen = (choice: unknown, field: string) => (choice as Record<string, unknown> | null | undefined)?.[field] ?? null;
