import { formatDuration, formatNumber, joinWords } from '../../../ui/format';
import { messageOf } from '../../../api/problem';
import { Fact } from '../JobFacts';
import { type Summary, countReasons } from './queries';

/** The main figures of summary.json, with notes on tile quality. */
export function SummaryFigures({ summary, error }: { summary: Summary | undefined; error: Error | null }) {
  return (
    <section aria-labelledby="figures" className="min-h-56 rounded-lg border border-line bg-raised p-5 text-sm">
      <h2 id="figures" className="text-base font-semibold">
        Summary
      </h2>
      {error && <p className="mt-3 text-muted">{messageOf(error)} The file itself can be downloaded below.</p>}
      {summary && (
        <>
          <dl className="mt-3 grid grid-cols-[8rem_1fr] gap-x-4 gap-y-2 lg:grid-cols-[8rem_1fr_8rem_1fr]">
            <Fact name="Tissue">
              {formatNumber(summary.slide.tissue_um2 / 1e6, 1)} mm², {formatNumber(summary.slide.tissue_fraction * 100, 1)} % of the slide
            </Fact>
            <Fact name="Tiles">
              {formatNumber(summary.tiles.inferred)} of {formatNumber(summary.tiles.planned)} analysed
            </Fact>
            {summary.objects && <Fact name="Objects">{describeObjects(summary.objects)}</Fact>}
            {summary.model.embedding && <Fact name="Vectors">{formatNumber(summary.model.embedding.dimensions)} numbers for each tile</Fact>}
            <Fact name="Slide">
              {formatNumber(summary.slide.width)} × {formatNumber(summary.slide.height)} px, {formatNumber(summary.slide.mpp, 4)} µm per pixel
            </Fact>
            <Fact name="Analysed at">{formatNumber(summary.model.mpp, 4)} µm per pixel</Fact>
            {summary.model.licence && <Fact name="Model’s licence">{summary.model.licence}</Fact>}
            <Fact name="Computing time">{formatComputing(summary.run.inference.seconds)}</Fact>
            <Fact name="Hardware">{summary.run.inference.hardware.join(', ') || '–'}</Fact>
          </dl>
          <Notes summary={summary} />
        </>
      )}
    </section>
  );
}

/** Return "1,204 Nucleus and 17 Lymphocyte". */
function describeObjects({ found, classes }: NonNullable<Summary['objects']>): string {
  return found === 0 ? 'none found' : joinWords(Object.entries(classes).map(([name, count]) => `${formatNumber(count)} ${name}`));
}

const formatComputing = (seconds: number) => (seconds < 1 ? 'less than a second' : `${formatDuration(seconds)} of one worker`);

function Notes({ summary }: { summary: Summary }) {
  const notes = [...describeUnreadable(summary), describeQuality(summary), ...summary.warnings];
  return (
    <ul className="mt-4 list-disc space-y-1 border-t border-line pt-4 pl-5">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}

function describeUnreadable({ tiles, unreadable: lost }: Summary): string[] {
  if (tiles.unreadable === 0) return [];
  const reasons = countReasons(lost).slice(0, 3).map(([reason, count]) => `${reason} (${formatNumber(count)})`);
  return [`${formatNumber(tiles.unreadable)} of ${formatNumber(tiles.planned)} tiles could not be read and are missing from the results: ${reasons.join('; ')}.`];
}

/** Describe the tile quality that was measured with the scores. */
function describeQuality({ quality: { measured, mostly_white = 0, with_pen = 0 } }: Summary): string {
  if (measured === 0) return 'Tile quality was not measured.';
  const found = [
    ...(mostly_white > 0 ? [`${formatNumber(mostly_white)} are mostly glass`] : []),
    ...(with_pen > 0 ? [`${formatNumber(with_pen)} contain pen ink`] : []),
  ];
  const findings = found.length > 0 ? found.join(' and ') : 'none is mostly glass or contains pen ink';
  return `Of ${formatNumber(measured)} tiles, ${findings}; tile_quality.csv lists sharpness, glass and ink for each.`;
}
