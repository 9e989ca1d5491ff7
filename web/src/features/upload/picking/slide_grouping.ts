/** Groups the chosen files into slides, with reasons for the ones that it ignores, like tessera/local_run/inputs for the command line. */
import { RESULT_NAMES, detectKind, suffixOf, type FileKind } from './file_kinds';
import type { PickedFile } from './file_picker';
import { folderOf, groupSeries, type DicomFile, type Series } from './dicom_series';

export interface SlideToSend {
  name: string; // as the list of slides shows it
  files: readonly { name: string; file: File }[]; // the file to open comes first; names include the slide's folder
  size: number; // bytes of all files
  folder: string; // the folder that was chosen, ending with a slash; empty for files that were chosen alone
}

export interface IgnoredFile {
  path: string;
  reason: string; // one sentence
}

export interface GroupedFiles {
  slides: SlideToSend[];
  ignored: IgnoredFile[];
}

interface ExaminedFile extends PickedFile {
  kind: FileKind;
}

const SYSTEM_FILE = /^(\.|~\$|(eh)?thumbs\.db$|desktop\.ini$|dicomdir$|@eadir$|#recycle$|__macosx$)/i; // files of the operating system; nobody chose them
const ZARR = /^(.*?\.zarr\/)/i; // an image stored as a folder of thousands of files
const HAMAMATSU_PARTS = ['.jpg', '.jpeg', '.opt', '.ngr'];
const PARALLEL = 32; // files that are examined at once

const NO_DATA = 'Its folder of the same name is missing: add both together, or the folder that holds both.';
const NO_SYSTEM = 'Hidden and system files hold no slide.';
const NO_MRXS = 'It holds the data of a MIRAX slide whose .mrxs file is missing: add both together.';
const NO_ZARR = 'OME-Zarr is not read. Export the slide as SVS, OME-TIFF or DICOM.';
const NO_LEVEL = 'Its DICOM series holds a label or an overview, and no level of a slide.';
const COPY = 'It is a copy of another file of its series.';

/** Group files by their first bytes (64 KiB for DICOM). The data files of MIRAX slides are not read. */
export async function groupSlides(picked: readonly PickedFile[]): Promise<GroupedFiles> {
  const isSystemFile = ({ path }: PickedFile) => path.split('/').some((part) => SYSTEM_FILE.test(part));
  const rest = new UnclaimedFiles(picked.filter((one) => !isSystemFile(one)));
  const byName = [ignoreZarr(rest), groupMirax(rest), ignoreMiraxData(rest)];
  const examined = new UnclaimedFiles(await examineFiles(rest.take(() => true)));
  const byBytes = [groupHamamatsu(examined), groupSingleFiles(examined), groupDicom(examined), ignoreOthers(examined)];
  const found = [...byName, ...byBytes];
  return {
    slides: found.flatMap(({ slides }) => slides),
    ignored: [...found.flatMap(({ ignored }) => ignored), ...ignoreSystemFiles(picked.filter(isSystemFile))],
  };
}

async function examineFiles(ones: readonly PickedFile[]): Promise<ExaminedFile[]> {
  const examined: ExaminedFile[] = [];
  for (let at = 0; at < ones.length; at += PARALLEL) {
    const some = ones.slice(at, at + PARALLEL);
    examined.push(...(await Promise.all(some.map(async (one) => ({ ...one, kind: await detectKind(baseName(one.path), one.file) })))));
  }
  return examined;
}

/** List system files in one line: macOS and Windows add them to every folder. */
function ignoreSystemFiles(files: readonly PickedFile[]): IgnoredFile[] {
  const [first] = files;
  if (!first) return [];
  const more = files.length > 1 ? ` and ${files.length - 1} more` : '';
  return [{ path: first.path + more, reason: NO_SYSTEM }];
}

function groupMirax(rest: UnclaimedFiles<PickedFile>): GroupedFiles {
  const found: GroupedFiles = { slides: [], ignored: [] };
  for (const one of rest.takeBySuffix(['.mrxs'])) {
    const folder = `${dropSuffix(one.path)}/`;
    const data = rest.take(({ path }) => folderOf(path) === folder && !RESULT_NAMES.includes(baseName(path)));
    if (data.length > 0) found.slides.push(makeSlide([one, ...data], folderOf(one.path)));
    else found.ignored.push({ path: one.path, reason: NO_DATA });
  }
  return found;
}

function ignoreMiraxData(rest: UnclaimedFiles<PickedFile>): GroupedFiles {
  const lists = rest.take(({ path }) => baseName(path).toLowerCase() === 'slidedat.ini');
  const ignored = lists.map(({ path: list }) => {
    rest.take(({ path }) => folderOf(path) === folderOf(list));
    return { path: folderOf(list) || list, reason: NO_MRXS };
  });
  return { slides: [], ignored };
}

function ignoreZarr(rest: UnclaimedFiles<PickedFile>): GroupedFiles {
  const found = rest.take(({ path }) => ZARR.test(path)).map(({ path }) => ZARR.exec(path)?.[1] ?? path);
  return { slides: [], ignored: Array.from(new Set(found), (path) => ({ path, reason: NO_ZARR })) };
}

/** Parts whose names the list spells differently from the disk still begin with the list's own name. */
function groupHamamatsu(rest: UnclaimedFiles<ExaminedFile>): GroupedFiles {
  const lists = rest.take(({ kind }) => kind.is === 'hamamatsu');
  const slides = lists.map((list) => {
    const [folder, stem] = [folderOf(list.path), dropSuffix(list.path)];
    const names = list.kind.is === 'hamamatsu' ? list.kind.names : [];
    const parts = rest.take(({ path }) => {
      if (folderOf(path) !== folder) return false;
      const isNamed = path.startsWith(stem) && HAMAMATSU_PARTS.includes(suffixOf(path)) && !/^[\p{L}\p{N}]/u.test(path.slice(stem.length));
      return isNamed || names.includes(baseName(path));
    });
    return makeSlide([list, ...parts], folder);
  });
  return { slides, ignored: [] };
}

function groupSingleFiles(rest: UnclaimedFiles<ExaminedFile>): GroupedFiles {
  const slides = rest.take(({ kind }) => kind.is === 'slide').map((one) => makeSlide([one], folderOf(one.path)));
  return { slides, ignored: [] };
}

function groupDicom(rest: UnclaimedFiles<ExaminedFile>): GroupedFiles {
  const files = rest.take(({ kind }) => kind.is === 'dicom');
  const { series, labels, copies } = groupSeries(files.map(({ kind, ...one }): DicomFile => ({ ...one, identity: kind.is === 'dicom' ? kind.identity : null })));
  const isShared = (folder: string) => series.filter((one) => one.folder === folder).length > 1;
  return {
    slides: series.map((one) => makeSeriesSlide(one, isShared(one.folder))),
    ignored: [
      ...labels.map(({ path }) => ({ path, reason: NO_LEVEL })),
      ...copies.map(({ path }) => ({ path, reason: COPY })),
    ],
  };
}

/** Send a series with its folder, which names it, since its files are named by numbers or UIDs; without the folder if that
 *  holds another series. */
function makeSeriesSlide({ folder, files }: Series, isShared: boolean): SlideToSend {
  if (files.length === 1 || isShared || folder === '') return makeSlide(files, folder);
  const above = folderOf(folder.slice(0, -1));
  const bases = new Set(files.map(({ path }) => baseName(path)));
  if (bases.size < files.length) return makeSlide(files, above);
  return makeSlide(files.map((one) => ({ ...one, path: folder + baseName(one.path) })), above);
}

function ignoreOthers(rest: UnclaimedFiles<ExaminedFile>): GroupedFiles {
  const ignored = rest.take(() => true).map(({ path, kind }) => ({ path, reason: kind.is === 'ignored' ? kind.reason : '' }));
  return { slides: [], ignored };
}

/** Leave out empty files: S3 accepts no empty part. */
function makeSlide(ones: readonly PickedFile[], root: string): SlideToSend {
  const files = ones
    .filter(({ file }) => file.size > 0)
    .map(({ path, file }) => ({ name: path.slice(root.length), file }));
  const size = files.reduce((sum, { file }) => sum + file.size, 0);
  return { name: nameSlide(files.map(({ name }) => name)), files, size, folder: root };
}

/** Name the slide as the server does (wsi/uploads/rules.py), so that an upload is found again. */
function nameSlide(names: readonly string[]): string {
  const [first = ''] = names;
  const folder = folderOf(first);
  const holdsAll = folder !== '' && names.length > 1 && names.every((name) => name.startsWith(folder));
  return baseName(holdsAll ? folder.slice(0, -1) : first);
}

/** The files that belong to no slide yet, in the order of their paths. */
class UnclaimedFiles<One extends PickedFile> {
  private files: One[];

  constructor(files: One[]) {
    this.files = files.sort((one, other) => (one.path < other.path ? -1 : 1));
  }

  take(isWanted: (one: One) => boolean): One[] {
    const taken = this.files.filter(isWanted);
    this.files = this.files.filter((one) => !isWanted(one));
    return taken;
  }

  takeBySuffix(suffixes: readonly string[]): One[] {
    return this.take(({ path }) => suffixes.includes(suffixOf(path)));
  }
}

const baseName = (path: string) => path.slice(path.lastIndexOf('/') + 1);
const dropSuffix = (path: string) => path.replace(/\.[^./]*$/, '');
