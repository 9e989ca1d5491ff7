import type { ReactNode } from 'react';
import { type Inspection, readInspection, formatMpp } from '../../api/inspection';
import { formatBytes, formatMoment, formatNumber } from '../../ui/format';
import { SlideStatus } from '../../ui/statuses';
import { type Slide, explainStatus } from './queries';

const FORMAT_NAMES: Record<string, string> = {
  svs: 'Aperio SVS',
  ndpi: 'Hamamatsu NDPI',
  dicom: 'DICOM',
  'ome-tiff': 'OME-TIFF',
  tiff: 'TIFF',
};

const SCALE_SOURCES: Record<string, string> = {
  override: 'as stated by a user',
  'tiff-resolution': 'from the resolution in the file',
  imagej: 'from the unit that ImageJ wrote',
  description: 'from the text in the file',
  libvips: 'copied from the slide that the file was made from',
};

export function SlideFacts({ slide }: { slide: Slide }) {
  const found = readInspection(slide);
  const sentence = explainStatus(slide);
  return (
    <dl className="grid grid-cols-[8rem_1fr] gap-x-4 gap-y-2.5 rounded-lg border border-line bg-raised p-5 text-sm">
      <Fact name="Status">
        <SlideStatus status={slide.status} />
        {sentence && <p className="mt-1 max-w-prose">{sentence}</p>}
      </Fact>
      {slide.legal_hold && <Fact name="Legal hold">Neither the slide nor its jobs can be deleted until an admin ends the hold</Fact>}
      {slide.restored_until && <Fact name="Restored until">{formatMoment(slide.restored_until)}</Fact>}
      {found ? <InspectionFacts found={found} /> : slide.mpp !== null && <Fact name="Scale">{describeStatedScale(slide.mpp)}</Fact>}
      {slide.optical_path !== null && <Fact name="Optical path">{slide.optical_path}, as chosen by a user</Fact>}
      {slide.focal_plane !== null && <Fact name="Focal plane">{slide.focal_plane}, as chosen by a user</Fact>}
      {slide.picture !== null && <Fact name="Image">{slide.picture} in the file, as chosen by a user</Fact>}
      {slide.deidentified && <Fact name="De-identified">{describeRemoved(slide.removed)}</Fact>}
      <Fact name="Size">
        {formatBytes(slide.size)} in {formatNumber(slide.files)} {slide.files === 1 ? 'file' : 'files'}
      </Fact>
      <Fact name="Added">
        <time dateTime={slide.created_at}>{formatMoment(slide.created_at)}</time>
      </Fact>
      {slide.digest && (
        <Fact name="Fingerprint">
          <code className="font-mono text-xs break-all text-muted">{slide.digest}</code>
        </Fact>
      )}
    </dl>
  );
}

function InspectionFacts({ found }: { found: Inspection }) {
  return (
    <>
      {found.mpp && (
        <Fact name="Scale">
          {formatMpp(found.mpp)} µm per pixel, {SCALE_SOURCES[found.mppSource ?? ''] ?? 'from the scanner'}
        </Fact>
      )}
      {found.width !== null && found.height !== null && (
        <Fact name="Pixels">
          {formatNumber(found.width)} × {formatNumber(found.height)} pixels{describeExtent(found)}
        </Fact>
      )}
      <Fact name="Tissue">{describeTissue(found)}</Fact>
      <Fact name="Format">
        {describeFormat(found)}
        {found.isCopied && (
          <p className="text-muted">
            The slide is read from a copy, which takes longer{found.copyReason ? `: ${found.copyReason}` : '.'}
          </p>
        )}
      </Fact>
      {found.hasProfile && (
        <Fact name="Colours">The file has a colour profile. Models and the viewer use the colours as scanned.</Fact>
      )}
    </>
  );
}

/** Describe what was removed: "Label and identifiers were removed: 2 images and 33 values". */
function describeRemoved(counts: Slide['removed']): string {
  const { images = 0, tags = 0, files = 0 } = counts ?? {};
  const several: [number, string][] = [
    [images, images === 1 ? 'image' : 'images'],
    [tags, tags === 1 ? 'value' : 'values'],
    [files, files === 1 ? 'other file' : 'other files'],
  ];
  const parts = several.filter(([count]) => count > 0).map(([count, what]) => `${formatNumber(count)} ${what}`);
  if (parts.length === 0) return 'The file contained no label and no identifiers';
  return `Label and identifiers were removed: ${new Intl.ListFormat('en').format(parts)}`;
}

const describeStatedScale = (mpp: number) => `${formatMpp([mpp, mpp])} µm per pixel, ${SCALE_SOURCES['override'] ?? ''}`;

/** Describe the physical size: ", 23.0 × 16.4 mm". */
function describeExtent({ width, height, mpp }: Inspection): string {
  if (width === null || height === null || mpp === null) return '';
  return `, ${formatNumber((width * mpp[0]) / 1000, 1)} × ${formatNumber((height * mpp[1]) / 1000, 1)} mm`;
}

function describeTissue({ tissueUm2, tissueFraction }: Inspection): string {
  if (tissueUm2 === 0) return 'None found';
  const mm2 = tissueUm2 / 1e6;
  return `${formatNumber(mm2, mm2 < 10 ? 1 : 0)} mm², ${formatNumber(tissueFraction * 100, tissueFraction < 0.1 ? 1 : 0)} % of the slide`;
}

function describeFormat({ format: found, levels }: Inspection): string {
  const name = found === null ? 'Unknown' : (FORMAT_NAMES[found] ?? found.toUpperCase());
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
