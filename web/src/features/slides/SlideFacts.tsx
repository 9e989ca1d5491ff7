import type { ReactNode } from 'react';
import { type Inspection, inspectionOf, mppWords } from '../../api/inspection';
import { bytes, moment, number } from '../../ui/format';
import { SlideStatus } from '../../ui/statuses';
import { type Slide, sentenceOn } from './slides';

const FORMATS: Record<string, string> = {
  svs: 'Aperio SVS',
  ndpi: 'Hamamatsu NDPI',
  dicom: 'DICOM',
  'ome-tiff': 'OME-TIFF',
  tiff: 'TIFF',
};

const SOURCES: Record<string, string> = {
  override: 'as it was stated',
  'tiff-resolution': 'by the resolution that the file states',
  imagej: 'by the unit that ImageJ wrote',
  description: 'by the text in the file',
  libvips: 'copied from the slide that the file was made from',
};

export function SlideFacts({ slide }: { slide: Slide }) {
  const found = inspectionOf(slide);
  const sentence = sentenceOn(slide);
  return (
    <dl className="grid grid-cols-[8rem_1fr] gap-x-4 gap-y-2.5 rounded-lg border border-line bg-raised p-5 text-sm">
      <Fact name="Status">
        <SlideStatus status={slide.status} />
        {sentence && <p className="mt-1 max-w-prose">{sentence}</p>}
      </Fact>
      {slide.restored_until && <Fact name="Restored until">{moment(slide.restored_until)}</Fact>}
      {found ? <Found found={found} /> : slide.mpp !== null && <Fact name="Scale">{stated(slide.mpp)}</Fact>}
      {slide.optical_path !== null && <Fact name="Optical path">{slide.optical_path}, as it was chosen</Fact>}
      {slide.focal_plane !== null && <Fact name="Plane of focus">{slide.focal_plane}, as it was chosen</Fact>}
      {slide.picture !== null && <Fact name="Image">{slide.picture} of those in the file, as it was chosen</Fact>}
      {slide.deidentified && <Fact name="De-identified">{removed(slide.removed)}</Fact>}
      <Fact name="Size">
        {bytes(slide.size)} in {number(slide.files)} {slide.files === 1 ? 'file' : 'files'}
      </Fact>
      <Fact name="Added">
        <time dateTime={slide.created_at}>{moment(slide.created_at)}</time>
      </Fact>
      {slide.digest && (
        <Fact name="Fingerprint">
          <code className="font-mono text-xs break-all text-muted">{slide.digest}</code>
        </Fact>
      )}
    </dl>
  );
}

function Found({ found }: { found: Inspection }) {
  return (
    <>
      {found.mpp && (
        <Fact name="Scale">
          {mppWords(found.mpp)} µm per pixel, {SOURCES[found.mppSource ?? ''] ?? 'as the scanner wrote it'}
        </Fact>
      )}
      {found.width !== null && found.height !== null && (
        <Fact name="Pixels">
          {number(found.width)} × {number(found.height)} pixels{extent(found)}
        </Fact>
      )}
      <Fact name="Tissue">{tissue(found)}</Fact>
      <Fact name="Format">
        {format(found)}
        {found.isCopied && (
          <p className="text-muted">
            It is read from a copy, which takes longer{found.copyReason ? `: ${found.copyReason}` : '.'}
          </p>
        )}
      </Fact>
      {found.hasProfile && (
        <Fact name="Colours">The file holds a colour profile. Models and viewer take the colours as they were scanned.</Fact>
      )}
    </>
  );
}

/** "Label and identifiers were removed: 2 pictures and 33 values" */
function removed(counts: Slide['removed']): string {
  const { images = 0, tags = 0, files = 0 } = counts ?? {};
  const several: [number, string][] = [
    [images, images === 1 ? 'picture' : 'pictures'],
    [tags, tags === 1 ? 'value' : 'values'],
    [files, files === 1 ? 'other file' : 'other files'],
  ];
  const said = several.filter(([count]) => count > 0).map(([count, what]) => `${number(count)} ${what}`);
  if (said.length === 0) return 'The file held no label and no identifiers';
  return `Label and identifiers were removed: ${new Intl.ListFormat('en').format(said)}`;
}

const stated = (mpp: number) => `${mppWords([mpp, mpp])} µm per pixel, ${SOURCES['override'] ?? ''}`;

/** ", 23.0 × 16.4 mm" */
function extent({ width, height, mpp }: Inspection): string {
  if (width === null || height === null || mpp === null) return '';
  return `, ${number((width * mpp[0]) / 1000, 1)} × ${number((height * mpp[1]) / 1000, 1)} mm`;
}

function tissue({ tissueUm2, tissueFraction }: Inspection): string {
  if (tissueUm2 === 0) return 'None was found';
  const mm2 = tissueUm2 / 1e6;
  return `${number(mm2, mm2 < 10 ? 1 : 0)} mm², ${number(tissueFraction * 100, tissueFraction < 0.1 ? 1 : 0)} % of the slide`;
}

function format({ format: found, levels }: Inspection): string {
  const name = found === null ? 'Unknown' : (FORMATS[found] ?? found.toUpperCase());
  return `${name}, ${levels} ${levels === 1 ? 'level' : 'levels'} of zoom`;
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </>
  );
}
