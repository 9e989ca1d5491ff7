/** The state of a pane: its job, the job's results, and the layers that are drawn over the slide. */
import { useMemo, useState } from 'react';
import { useJob } from '../../../api/live/use_job';
import type { ColourMap } from '../overlays/colour_maps';
import type { TileResults } from '../results/load_results';
import type { Layers } from '../overlays/paint_layers';
import { usePartialResults } from '../results/use_partial_results';
import { CellImage, colourScores, colourUnreadable } from '../overlays/cell_image';
import type { Pyramid } from '../engine/pyramid';
import { type Job, isTransient, useFinalResults, useFoundObjects, useTissueOutline } from '../results/queries';
import type { Column } from '../results/tile_scores';

/** How overlays are drawn, in all panes. */
export interface OverlaySettings {
  heatmap: boolean;
  opacity: number; // 0 to 1
  map: ColourMap;
  tissue: boolean;
  objects: boolean;
}

/** The column that one pane shows, and its threshold. */
export interface ColumnChoice {
  column: number;
  threshold: number | null; // null: the lowest value of the column
}

export const DEFAULT_SETTINGS: OverlaySettings = { heatmap: true, opacity: 0.6, map: 'viridis', tissue: false, objects: true };
export const DEFAULT_CHOICE: ColumnChoice = { column: 0, threshold: null };

export interface PaneState {
  job: Job | undefined;
  results: TileResults | null;
  column: Column | undefined; // the one that is shown
  tiles: number; // loaded so far
  layers: Layers;
  isWaiting: boolean; // scores are still to come
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
  const column = results?.columns[choice.column] ?? results?.columns[0];
  const threshold = choice.threshold ?? -Infinity;
  const { map } = settings;
  const [pictures] = useState(() => ({ scores: new CellImage(), unreadable: new CellImage() }));
  const values = useMemo(
    () => (results === null || column === undefined || tiles === 0 ? null : results.scores.columnValues(results.columns.indexOf(column))),
    [results, column, tiles], // `tiles`: the scores grow in place
  );
  const heatmap = useMemo(() => {
    if (values === null || results === null || column === undefined) return null;
    const { grid } = results.scores;
    const picture = pictures.scores.paint(grid, (pixels) => {
      colourScores(pixels, values, column, { map, threshold });
    });
    return picture && { picture, grid };
  }, [pictures, values, results, column, map, threshold]);
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
      unreadable: settings.heatmap ? unreadable : null,
      tissue: (settings.tissue && tissue.data) || null,
      objects: settings.objects && objects.data ? { ...objects.data, picked: null } : null,
      marked: null,
    }),
    [heatmap, unreadable, settings, tissue.data, objects.data],
  );
  const mismatch = isOfOtherSlide
    ? new Error('This job analysed another slide. Choose a job of this slide.')
    : isOfOtherImage
      ? new Error('This job analysed another image of the slide. Its results are on the job’s page.')
      : null;
  return {
    job,
    results,
    column,
    tiles,
    layers,
    isWaiting: (jobId !== null && live.job === undefined && live.error === null) || final.isLoading || (job !== undefined && results === null && isTransient(job)),
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
