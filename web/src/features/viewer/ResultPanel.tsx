import { Link } from 'react-router';
import { number } from '../../ui/format';
import { Loading } from '../../ui/Loading';
import { Problem } from '../../ui/Problem';
import { ProgressBar } from '../../ui/ProgressBar';
import { Select } from '../../ui/Select';
import { JobStatus } from '../../ui/statuses';
import type { ColourMap } from './colours';
import { Downloads } from './Downloads';
import { Legend } from './Legend';
import { ObjectCounts } from './ObjectCounts';
import { isPassing } from './queries';
import type { Tile } from './scores';
import type { Choice, Shown } from './shown';
import { Slider } from './Slider';
import { TopTiles } from './TopTiles';

const STEPS = 200; // of the threshold

interface Props {
  side: string | null; // "Left", where there are two
  shown: Shown;
  choice: Choice;
  map: ColourMap;
  onChoose: (choice: Choice) => void;
  onGo: (tile: Tile) => void;
}

/** What one job found, and how it is looked at. */
export function ResultPanel({ side, shown, choice, map, onChoose, onGo }: Props) {
  const { job, outcome, column, tiles, layers, error, isWaiting, retry } = shown;
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
      {job && isPassing(job) && (
        <ProgressBar
          label="Tiles so far"
          value={job.tiles_planned > 0 ? tiles / job.tiles_planned : undefined}
          detail={job.tiles_planned > 0 ? `${number(tiles)} of ${number(job.tiles_planned)}` : 'being planned'}
        />
      )}
      {job && !isPassing(job) && job.sentence && <p className="text-sm">{job.sentence}</p>}
      {isWaiting && outcome === null && <Loading label="Loading the scores" className="h-24" />}
      {outcome && column && (
        <>
          <Select
            label="Class"
            value={String(outcome.columns.indexOf(column))}
            options={outcome.columns.map(({ name }, place) => ({ value: String(place), label: name }))}
            onChange={(event) => {
              onChoose({ column: Number(event.target.value), threshold: null });
            }}
          />
          <Legend column={column} map={map} />
          <Slider
            label="Hide scores below"
            value={choice.threshold ?? column.low}
            min={column.low}
            max={column.high}
            step={(column.high - column.low) / STEPS}
            shown={choice.threshold === null ? 'nothing hidden' : number(choice.threshold, 3)}
            onChange={(value) => {
              onChoose({ ...choice, threshold: value <= column.low ? null : value });
            }}
          />
          <p className="text-xs text-muted tabular-nums">
            {number(outcome.scores.count)} tiles with scores
            {outcome.scores.unreadableCount > 0 && `, ${number(outcome.scores.unreadableCount)} unreadable (hatched)`}
          </p>
          {layers.objects && <ObjectCounts objects={layers.objects.objects} />}
          {outcome.warnings.map((warning) => (
            <p key={warning} className="text-xs text-warn">
              {warning}
            </p>
          ))}
          <TopTiles outcome={outcome} column={outcome.columns.indexOf(column)} tiles={tiles} onGo={onGo} />
        </>
      )}
      {job && outcome && outcome.files.length > 0 && <Downloads jobId={job.job_id} files={outcome.files} />}
    </section>
  );
}
