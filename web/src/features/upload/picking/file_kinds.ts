/** Detects a file's format from its first bytes, like tessera/local_run/inputs/kinds.py and wsi/slide/files/foreign.py. A name that claims
 *  to be a slide counts too, so that the server rejects a damaged slide and the page does not ignore it. */
import { DICOM_HEAD, SLIDE_CLASS, readIdentity, isDicom, type DicomIdentity } from './dicom_identity';

export type FileKind =
  | { is: 'slide' } // in one file
  | { is: 'dicom'; identity: DicomIdentity | null } // one file of a series
  | { is: 'hamamatsu'; names: readonly string[] } // a list, and the file names in it
  | { is: 'ignored'; reason: string };

const HEAD_SIZE = 4_096; // bytes that identify a format
const SLIDE_SUFFIXES = ['.svs', '.tif', '.tiff', '.btf', '.tf2', '.tf8', '.qptiff', '.ndpi', '.scn', '.bif', '.svslide', '.czi'];
export const RESULT_NAMES = ['heatmap.ome.tif', 'tiles.csv', 'tiles.geojson.gz', 'tissue.png', 'tile_quality.csv', 'summary.json']; // files that a job writes
const TEMPORARY = /(~|\.(part|partial|te?mp|crdownload|download|filepart|opdownload|aria2))$/i; // tessera/local_run/inputs/temporary_names.py
const TIFF = ['II*\0', 'MM\0*', 'II+\0', 'MM\0+'];

const UNPACK = 'Unpack it first.';
const EXPORT = 'Export the slide as SVS, OME-TIFF or DICOM.';
const VSI = `The pixels of an Olympus slide are in .ets files, which are not read. ${EXPORT}`;
const PHOTO = 'It is a photograph as a camera stores it.';
const OFFICE = 'It is a document of an office program.';

interface ForeignFormat {
  reason: string;
  starts?: readonly string[];
  suffixes?: readonly string[];
}

const TIFF_BY_NAME: readonly ForeignFormat[] = [
  { reason: VSI, suffixes: ['.vsi'] },
  { reason: PHOTO, suffixes: ['.cr2', '.nef', '.dng', '.arw', '.pef', '.rw2', '.orf', '.raf'] },
];

const FOREIGN_FORMATS: readonly ForeignFormat[] = [
  ...TIFF_BY_NAME,
  { reason: OFFICE, suffixes: ['.xlsx', '.xlsm', '.xls', '.docx', '.doc', '.pptx', '.ppt', '.ods', '.odt', '.odp'] },
  { reason: `It is a ZIP archive. ${UNPACK}`, starts: ['PK\x03\x04', 'PK\x05\x06', 'PK\x07\x08'], suffixes: ['.zip'] },
  { reason: `It is compressed. ${UNPACK}`, starts: ['\x1f\x8b\x08', 'BZh', '\xfd7zXZ\0', '\x28\xb5\x2f\xfd', '\x04\x22\x4d\x18'] },
  { reason: `It is compressed. ${UNPACK}`, suffixes: ['.gz', '.tgz', '.bz2', '.tbz2', '.xz', '.txz', '.lzma', '.zst', '.lz4', '.z'] },
  { reason: `It is an archive. ${UNPACK}`, starts: ['7z\xbc\xaf\x27\x1c', 'Rar!\x1a\x07'], suffixes: ['.7z', '.rar', '.tar', '.iso'] },
  {
    reason: `Its format is not read. ${EXPORT}`,
    starts: ['<DataObject ObjectType="DPUfsImport"', 'SIS\0', '\0\0\0\x0cjP  ', '\xff\x4f\xff\x51', '\xda\xce\xbe\x0a', '\x89HDF'],
    suffixes: [
      ...['.isyntax', '.i2syntax', '.ets', '.jp2', '.jpx', '.j2k', '.nd2', '.lif', '.lof', '.xlef', '.h5', '.hdf5', '.ims'],
      ...['.sdpc', '.dyqx', '.kfb', '.kfbf', '.tmap', '.tmpx', '.mds', '.zvi', '.afi', '.ndpis'],
    ],
  },
  { reason: 'It is an image without the levels of a slide.', starts: ['\xff\xd8\xff', '\x89PNG', 'GIF8'], suffixes: ['.jpg', '.png', '.bmp'] },
  { reason: OFFICE, starts: ['\xd0\xcf\x11\xe0'] },
];

const NO_SLIDE = 'It is no whole-slide image.';

export async function detectKind(name: string, file: File): Promise<FileKind> {
  const suffix = suffixOf(name);
  if (RESULT_NAMES.includes(name)) return makeIgnored('It is a result of an analysis, not a slide.');
  if (file.size === 0) return makeIgnored('The file is empty.');
  const head = await readBytes(file, HEAD_SIZE);
  if (isDicom(head)) return makeDicom(readIdentity(await readBytes(file, DICOM_HEAD)));
  if (suffix === '.dcm' || suffix === '.dicom') return makeDicom(null); // damaged; the server must report it
  if (TEMPORARY.test(name)) return makeIgnored('Its name is that of a download or a copy that is not complete.');
  const start = String.fromCharCode(...head);
  if (suffix === '.vms' || suffix === '.vmu') return { is: 'hamamatsu', names: parseValues(new TextDecoder().decode(head)) };
  if (TIFF.some((magic) => start.startsWith(magic))) {
    const other = TIFF_BY_NAME.find(({ suffixes }) => suffixes?.includes(suffix));
    return other ? makeIgnored(other.reason) : { is: 'slide' };
  }
  if (start.startsWith('ZISRAWFILE') || SLIDE_SUFFIXES.includes(suffix)) return { is: 'slide' };
  if (start.slice(257, 262) === 'ustar') return makeIgnored(`It is an archive. ${UNPACK}`);
  const other = FOREIGN_FORMATS.find(({ starts, suffixes }) => suffixes?.includes(suffix) || starts?.some((magic) => start.startsWith(magic)));
  return makeIgnored(other?.reason ?? NO_SLIDE);
}

function makeDicom(identity: DicomIdentity | null): FileKind {
  const isOther = identity !== null && identity.sopClass !== SLIDE_CLASS;
  return isOther ? makeIgnored('It is DICOM, but holds no whole-slide image.') : { is: 'dicom', identity };
}

const makeIgnored = (reason: string): FileKind => ({ is: 'ignored', reason });

const parseValues = (list: string) => list.split(/\r?\n/).map((line) => line.slice(line.indexOf('=') + 1).trim());

async function readBytes(file: File, count: number): Promise<Uint8Array> {
  return new Uint8Array(await file.slice(0, count).arrayBuffer());
}

export const suffixOf = (path: string) => /\.[^./]*$/.exec(path.toLowerCase())?.[0] ?? '';
