/** A pane's job, from the API to what is drawn over the slide. */
import { useMemo, useState } from 'react';
import { useJob } from '../../api/live/use_job';
import type { ColourMap } from './colours';
import type { Outcome } from './outcome';
import type { Layers } from './paint';
import { useGrowing } from './partial';
import { CellPicture, paintScores, paintUnreadable } from './picture';
import type { Pyramid } from './pyramid';
import { type Job, isPassing, useFinalOutcome, useObjects, useTissue } from './queries';
import type { Column } from './scores';

/** For all panes. */
export interface Settings {
  heatmap: boolean;
  opacity: number; // 0 to 1
  map: ColourMap;
  tissue: boolean;
  objects: boolean;
}

/** Of one pane. */
export interface Choice {
  column: number;
  threshold: number | null; // null: the column's lowest
}

export const SETTINGS: Settings = { heatmap: true, opacity: 0.6, map: 'viridis', tissue: false, objects: true };
export const CHOICE: Choice = { column: 0, threshold: null };

export interface Shown {
  job: Job | undefined;
  outcome: Outcome | null;
  column: Column | undefined; // that is shown
  tiles: number; // that are there by now
  layers: Layers;
  isWaiting: boolean; // for scores that will come
  error: unknown; // null: none
  retry: () => void;
}

export function useShown(jobId: string | null, pyramid: Pyramid, slideId: string, settings: Settings, choice: Choice): Shown {
  const live = useJob(jobId);
  const isOthers = live.job !== undefined && live.job.slide_id !== slideId;
  const isOfOtherImage = live.job !== undefined && !isSameImage(live.job.options['choice'], pyramid.choice);
  const job = isOthers || isOfOtherImage ? undefined : live.job;
  const final = useFinalOutcome(job);
  const growing = useGrowing(job);
  const tissue = useTissue(job, pyramid, settings.tissue);
  const objects = useObjects(job, pyramid, settings.objects);
  const outcome = final.data ?? growing.outcome;
  const tiles = final.data ? final.data.scores.count + final.data.scores.unreadableCount : growing.tiles;
  const column = outcome?.columns[choice.column] ?? outcome?.columns[0];
  const threshold = choice.threshold ?? -Infinity;
  const { map } = settings;
  const [pictures] = useState(() => ({ scores: new CellPicture(), unreadable: new CellPicture() }));
  const values = useMemo(
    () => (outcome === null || column === undefined || tiles === 0 ? null : outcome.scores.column(outcome.columns.indexOf(column))),
    [outcome, column, tiles], // `tiles`: the scores grow in place
  );
  const heatmap = useMemo(() => {
    if (values === null || outcome === null || column === undefined) return null;
    const { grid } = outcome.scores;
    const picture = pictures.scores.paint(grid, (pixels) => {
      paintScores(pixels, values, column, { map, threshold });
    });
    return picture && { picture, grid };
  }, [pictures, values, outcome, column, map, threshold]);
  const unreadable = useMemo(() => {
    if (outcome === null || tiles === 0 || outcome.scores.unreadableCount === 0) return null;
    const { scores } = outcome;
    const picture = pictures.unreadable.paint(scores.grid, (pixels) => {
      paintUnreadable(pixels, scores);
    });
    return picture && { picture, scores };
  }, [pictures, outcome, tiles]);
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
  const others = isOthers
    ? new Error('This job is of another slide: choose one of this slide.')
    : isOfOtherImage
      ? new Error('This job analysed another image of the slide than the one that is chosen now. Its results are on the job’s page.')
      : null;
  return {
    job,
    outcome,
    column,
    tiles,
    layers,
    isWaiting: (jobId !== null && live.job === undefined && live.error === null) || final.isLoading || (job !== undefined && outcome === null && isPassing(job)),
    error: others ?? live.error ?? final.error ?? growing.error ?? tissue.error ?? objects.error,
    retry: () => {
      if (live.error !== null) live.again();
      for (const query of [final, tissue, objects]) if (query.isError) void query.refetch();
    },
  };
}

/** Of a slide that holds several: a job's results belong on the image that it analysed, and on no other. */
function isSameImage(one: unknown, other: unknown): boolean {
  return ['optical_path', 'focal_plane', 'picture'].every((field) => chosenIn(one, field) === chosenIn(other, field));
}

const chosenIn = (choice: unknown, field: string) => (choice as Record<string, unknown> | null | undefined)?.[field] ?? null;
