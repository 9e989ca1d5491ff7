import { Link } from 'react-router';
import { formatNumber } from '../../../ui/format';
import { Loading } from '../../../ui/messages/Loading';
import { Problem } from '../../../ui/messages/Problem';
import { ProgressBar } from '../../../ui/messages/ProgressBar';
import { Select } from '../../../ui/fields/Select';
import { JobStatus } from '../../../ui/statuses';
import type { ColourMap } from '../overlays/colour_maps';
import { ResultDownloads } from './ResultDownloads';
import { ColourLegend } from '../overlays/ColourLegend';
import { ObjectCounts } from './ObjectCounts';
import { isTransient } from '../results/queries';
import type { Tile } from '../results/tile_scores';
import type { ColumnChoice, PaneState } from './pane_state';
import { Slider } from './Slider';
import { TopTiles } from './TopTiles';

const STEPS = 200; // of the threshold slider

interface Props {
  side: string | null; // "Left" or "Right" if there are two panes
  shown: PaneState;
  choice: ColumnChoice;
  map: ColourMap;
  onChoose: (choice: ColumnChoice) => void;
  onGo: (tile: Tile) => void;
}

/** The results of one job, and the controls for what is shown of them. */
export function ResultPanel({ side, shown, choice, map, onChoose, onGo }: Props) {
  const { job, results, column, tiles, layers, error, isWaiting, retry } = shown;
  return (
    <section aria-label={side === null ? 'Result' : `${side} result`} className="flex flex-col gap-3 border-t border-line pt-3">
      {job && (
        <div className="flex flex-wrap items-center justify-between gap-2 text-sm">
          <Link to={`/jobs/${job.job_id}`} className="font-medium text-accent hover:underline">
            {side !== null && `${side}: `}
            {job.model} {job.model_version}
          </Link>
          <JobStatus status={job.status} />
        </div>
      )}
      {error != null && <Problem error={error} onRetry={retry} />}
      {job && isTransient(job) && (
        <ProgressBar
          label="Tiles so far"
          value={job.tiles_planned > 0 ? tiles / job.tiles_planned : undefined}
          detail={job.tiles_planned > 0 ? `${formatNumber(tiles)} of ${formatNumber(job.tiles_planned)}` : 'being planned'}
        />
      )}
      {job && !isTransient(job) && job.sentence && <p className="text-sm">{job.sentence}</p>}
      {isWaiting && results === null && <Loading label="Loading the scores" className="h-24" />}
      {results && column && (
        <>
          <Select
            label="Class"
            value={String(results.columns.indexOf(column))}
            options={results.columns.map(({ name }, place) => ({ value: String(place), label: name }))}
            onChange={(event) => {
              onChoose({ column: Number(event.target.value), threshold: null });
            }}
          />
          <ColourLegend column={column} map={map} />
          <Slider
            label="Hide scores below"
            value={choice.threshold ?? column.low}
            min={column.low}
            max={column.high}
            step={(column.high - column.low) / STEPS}
            shown={choice.threshold === null ? 'nothing hidden' : formatNumber(choice.threshold, 3)}
            onChange={(value) => {
              onChoose({ ...choice, threshold: value <= column.low ? null : value });
            }}
          />
          <p className="text-xs text-muted tabular-nums">
            {formatNumber(results.scores.count)} tiles with scores
            {results.scores.unreadableCount > 0 && `, ${formatNumber(results.scores.unreadableCount)} unreadable (hatched)`}
          </p>
          {layers.objects && <ObjectCounts objects={layers.objects.objects} />}
          {results.warnings.map((warning) => (
            <p key={warning} className="text-xs text-warn">
              {warning}
            </p>
          ))}
          <TopTiles results={results} column={results.columns.indexOf(column)} tiles={tiles} onGo={onGo} />
        </>
      )}
      {job && results && results.files.length > 0 && <ResultDownloads jobId={job.job_id} files={results.files} />}
    </section>
  );
}
