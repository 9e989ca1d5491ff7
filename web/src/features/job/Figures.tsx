import { duration, number } from '../../ui/format';
import { sentenceOf } from '../../api/problem';
import { Fact } from './Facts';
import { type Summary, reasonsOf } from './outcome';

/** What summary.json says in short, and a word on how the tiles look. */
export function Figures({ summary, error }: { summary: Summary | undefined; error: Error | null }) {
  return (
    <section aria-labelledby="figures" className="min-h-56 rounded-lg border border-line bg-raised p-5 text-sm">
      <h2 id="figures" className="text-base font-semibold">
        In short
      </h2>
      {error && <p className="mt-3 text-muted">{sentenceOf(error)} The file itself can be downloaded below.</p>}
      {summary && (
        <>
          <dl className="mt-3 grid grid-cols-[8rem_1fr] gap-x-4 gap-y-2 lg:grid-cols-[8rem_1fr_8rem_1fr]">
            <Fact name="Tissue">
              {number(summary.slide.tissue_um2 / 1e6, 1)} mm², {number(summary.slide.tissue_fraction * 100, 1)} % of the slide
            </Fact>
            <Fact name="Tiles">
              {number(summary.tiles.inferred)} of {number(summary.tiles.planned)} analysed
            </Fact>
            <Fact name="Slide">
              {number(summary.slide.width)} × {number(summary.slide.height)} px, {number(summary.slide.mpp, 4)} µm a pixel
            </Fact>
            <Fact name="Analysed at">{number(summary.model.mpp, 4)} µm a pixel</Fact>
            <Fact name="Computed in">{computing(summary.run.inference.seconds)}</Fact>
            <Fact name="On">{summary.run.inference.hardware.join(', ') || '–'}</Fact>
          </dl>
          <Notes summary={summary} />
        </>
      )}
    </section>
  );
}

const computing = (seconds: number) => (seconds < 1 ? 'less than a second' : `${duration(seconds)} of one worker`);

function Notes({ summary }: { summary: Summary }) {
  const notes = [...unreadable(summary), looks(summary), ...summary.warnings];
  return (
    <ul className="mt-4 list-disc space-y-1 border-t border-line pt-4 pl-5">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}

function unreadable({ tiles, unreadable: lost }: Summary): string[] {
  if (tiles.unreadable === 0) return [];
  const reasons = reasonsOf(lost).slice(0, 3).map(([reason, count]) => `${reason} (${number(count)})`);
  return [`${number(tiles.unreadable)} of ${number(tiles.planned)} tiles could not be read and have no score: ${reasons.join('; ')}.`];
}

/** Of the quality that was measured beside the scores. */
function looks({ quality: { measured, mostly_white = 0, with_pen = 0 } }: Summary): string {
  if (measured === 0) return 'How the tiles look was not measured.';
  const found = [
    ...(mostly_white > 0 ? [`${number(mostly_white)} are mostly glass`] : []),
    ...(with_pen > 0 ? [`${number(with_pen)} hold ink of a pen`] : []),
  ];
  const said = found.length > 0 ? found.join(' and ') : 'none is mostly glass or holds ink of a pen';
  return `Of ${number(measured)} tiles ${said}; sharpness, glass and ink of each stand in tile_quality.csv.`;
}
