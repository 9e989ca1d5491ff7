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
import { nameColumn } from '../results/column_text';
import type { TileResults } from '../results/load_results';
import { hasScores } from '../results/output';
import { type Job, isTransient } from '../results/queries';
import type { Column, Tile } from '../results/tile_scores';
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
  const { job, results, output, column, tiles, layers, error, isWaiting, isLoadingObjects, retry } = shown;
  const outlined = layers.objects?.objects ?? null;
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
      {job && isTransient(job) && <TileProgress job={job} tiles={hasScores(output) ? tiles : job.tiles_inferred + job.tiles_unreadable} />}
      {job && isTransient(job) && !hasScores(output) && (
        <p className="text-sm">{output === 'detection' ? 'Outlines are drawn once the job has ended.' : 'The vectors are a file once the job has ended.'}</p>
      )}
      {job && !isTransient(job) && job.sentence && <p className="text-sm">{job.sentence}</p>}
      {isWaiting && results === null && <Loading label="Loading the results" className="h-24" />}
      {results && column && <ScoreControls {...{ shown, choice, map, onChoose }} column={column} columns={results.columns} />}
      {results && (
        <>
          <p className="text-xs text-muted tabular-nums">
            {countTiles(results)}
            {results.scores.unreadableCount > 0 && `, ${formatNumber(results.scores.unreadableCount)} unreadable (hatched)`}
          </p>
          {results.output === 'embedding' && <p className="text-sm">The vectors are in features.h5, in the order of tiles.csv.</p>}
          {results.objects?.found === 0 && <p className="text-sm">No objects were found.</p>}
          {isLoadingObjects && <p className="text-sm text-muted">Loading the outlines …</p>}
          {(results.objects ?? outlined) && <ObjectCounts totals={results.objects} outlined={outlined} />}
          {results.warnings.map((warning) => (
            <p key={warning} className="text-xs text-warn">
              {warning}
            </p>
          ))}
          {column && <TopTiles results={results} column={column} tiles={tiles} onGo={onGo} />}
        </>
      )}
      {job && results && results.files.length > 0 && <ResultDownloads jobId={job.job_id} files={results.files} />}
    </section>
  );
}

function TileProgress({ job, tiles }: { job: Job; tiles: number }) {
  return (
    <ProgressBar
      label="Tiles so far"
      value={job.tiles_planned > 0 ? tiles / job.tiles_planned : undefined}
      detail={job.tiles_planned > 0 ? `${formatNumber(tiles)} of ${formatNumber(job.tiles_planned)}` : 'being planned'}
    />
  );
}

type ScoreProps = Pick<Props, 'shown' | 'choice' | 'map' | 'onChoose'> & { column: Column; columns: readonly Column[] };

/** The column that is drawn, its colours, and the least score that is. */
function ScoreControls({ shown: { range }, choice, map, onChoose, column, columns }: ScoreProps) {
  const { low, high } = range;
  return (
    <>
      <Select
        label="Class"
        value={String(columns.indexOf(column))}
        options={columns.map((each, place) => ({ value: String(place), label: nameColumn(each) }))}
        {...(column.meaning ? { hint: column.meaning } : {})}
        onChange={(event) => {
          onChoose({ column: Number(event.target.value), threshold: null });
        }}
      />
      <ColourLegend column={column} range={range} map={map} />
      <Slider
        label="Hide scores below"
        value={choice.threshold ?? low}
        min={low}
        max={high}
        step={(high - low) / STEPS}
        shown={choice.threshold === null ? 'nothing hidden' : formatNumber(choice.threshold, 3)}
        onChange={(value) => {
          onChoose({ ...choice, threshold: value <= low ? null : value });
        }}
      />
    </>
  );
}

/** Say how many tiles were analysed, and what each has. */
function countTiles({ output, dimensions, scores: { count } }: TileResults): string {
  const tiles = `${formatNumber(count)} ${count === 1 ? 'tile' : 'tiles'}`;
  if (output === 'embedding') return `${tiles} with a vector of ${formatNumber(dimensions ?? 0)} numbers each`;
  return output === 'detection' ? `${tiles} searched for objects` : `${tiles} with scores`;
}
