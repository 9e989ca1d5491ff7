/** Which of the chosen files make one slide, and why the others make none, as client/inputs has it for the command line. */
import { RESULTS, kindOf, suffixOf, type Kind } from './kinds';
import type { Picked } from './picked';
import { folderOf, sortSeries, type DicomFile, type Series } from './series';

export interface SlideToSend {
  name: string; // as the list of slides will show it
  files: readonly { name: string; file: File }[]; // the one that is opened first; names with the folder of the slide
  size: number; // bytes of all files
  folder: string; // where they were chosen, with its slash; empty for files that were chosen alone
}

export interface Stray {
  path: string;
  reason: string; // one sentence
}

export interface Grouped {
  slides: SlideToSend[];
  strays: Stray[];
}

interface Looked extends Picked {
  kind: Kind;
}

const UNNAMED = /^(\.|~\$|(eh)?thumbs\.db$|desktop\.ini$|dicomdir$|@eadir$|#recycle$|__macosx$)/i; // what systems keep beside files; nobody chose them
const ZARR = /^(.*?\.zarr\/)/i; // an image as a folder of thousands of files
const HAMAMATSU_PARTS = ['.jpg', '.jpeg', '.opt', '.ngr'];
const AT_ONCE = 32; // files that are looked at

const NO_DATA = 'Its folder of the same name is missing: add both together, or the folder that holds both.';
const NO_SYSTEM = 'Hidden and system files hold no slide.';
const NO_MRXS = 'It holds the data of a MIRAX slide whose .mrxs file is missing: add both together.';
const NO_ZARR = 'OME-Zarr is not read. Export the slide as SVS, OME-TIFF or DICOM.';
const NO_LEVEL = 'Its DICOM series holds a label or an overview, and no level of a slide.';
const COPY = 'It is a copy of another file of its series.';

/** Reads the first bytes of each file, of DICOM 64 KiB, except the data of MIRAX slides. */
export async function groupSlides(picked: readonly Picked[]): Promise<Grouped> {
  const isUnnamed = ({ path }: Picked) => path.split('/').some((part) => UNNAMED.test(part));
  const rest = new Rest(picked.filter((one) => !isUnnamed(one)));
  const byPlace = [zarr(rest), mirax(rest), miraxData(rest)];
  const looked = new Rest(await look(rest.take(() => true)));
  const byBytes = [hamamatsu(looked), alone(looked), dicom(looked), others(looked)];
  const found = [...byPlace, ...byBytes];
  return {
    slides: found.flatMap(({ slides }) => slides),
    strays: [...found.flatMap(({ strays }) => strays), ...system(picked.filter(isUnnamed))],
  };
}

async function look(ones: readonly Picked[]): Promise<Looked[]> {
  const looked: Looked[] = [];
  for (let at = 0; at < ones.length; at += AT_ONCE) {
    const some = ones.slice(at, at + AT_ONCE);
    looked.push(...(await Promise.all(some.map(async (one) => ({ ...one, kind: await kindOf(baseOf(one.path), one.file) })))));
  }
  return looked;
}

/** In one line: macOS and Windows put them into every folder. */
function system(unnamed: readonly Picked[]): Stray[] {
  const [first] = unnamed;
  if (!first) return [];
  const more = unnamed.length > 1 ? ` and ${unnamed.length - 1} more` : '';
  return [{ path: first.path + more, reason: NO_SYSTEM }];
}

function mirax(rest: Rest<Picked>): Grouped {
  const found: Grouped = { slides: [], strays: [] };
  for (const one of rest.takeSuffix(['.mrxs'])) {
    const folder = `${withoutSuffix(one.path)}/`;
    const data = rest.take(({ path }) => folderOf(path) === folder && !RESULTS.includes(baseOf(path)));
    if (data.length > 0) found.slides.push(slideOf([one, ...data], folderOf(one.path)));
    else found.strays.push({ path: one.path, reason: NO_DATA });
  }
  return found;
}

function miraxData(rest: Rest<Picked>): Grouped {
  const lists = rest.take(({ path }) => baseOf(path).toLowerCase() === 'slidedat.ini');
  const strays = lists.map(({ path: list }) => {
    rest.take(({ path }) => folderOf(path) === folderOf(list));
    return { path: folderOf(list) || list, reason: NO_MRXS };
  });
  return { slides: [], strays };
}

function zarr(rest: Rest<Picked>): Grouped {
  const found = rest.take(({ path }) => ZARR.test(path)).map(({ path }) => ZARR.exec(path)?.[1] ?? path);
  return { slides: [], strays: Array.from(new Set(found), (path) => ({ path, reason: NO_ZARR })) };
}

/** Names of parts that the list does not spell as the disk does still begin with the list's own name. */
function hamamatsu(rest: Rest<Looked>): Grouped {
  const lists = rest.take(({ kind }) => kind.is === 'hamamatsu');
  const slides = lists.map((list) => {
    const [folder, stem] = [folderOf(list.path), withoutSuffix(list.path)];
    const names = list.kind.is === 'hamamatsu' ? list.kind.names : [];
    const parts = rest.take(({ path }) => {
      if (folderOf(path) !== folder) return false;
      const isNamed = path.startsWith(stem) && HAMAMATSU_PARTS.includes(suffixOf(path)) && !/^[\p{L}\p{N}]/u.test(path.slice(stem.length));
      return isNamed || names.includes(baseOf(path));
    });
    return slideOf([list, ...parts], folder);
  });
  return { slides, strays: [] };
}

function alone(rest: Rest<Looked>): Grouped {
  const slides = rest.take(({ kind }) => kind.is === 'slide').map((one) => slideOf([one], folderOf(one.path)));
  return { slides, strays: [] };
}

function dicom(rest: Rest<Looked>): Grouped {
  const files = rest.take(({ kind }) => kind.is === 'dicom');
  const { series, labels, copies } = sortSeries(files.map(({ kind, ...one }): DicomFile => ({ ...one, identity: kind.is === 'dicom' ? kind.identity : null })));
  const isShared = (folder: string) => series.filter((one) => one.folder === folder).length > 1;
  return {
    slides: series.map((one) => seriesOf(one, isShared(one.folder))),
    strays: [
      ...labels.map(({ path }) => ({ path, reason: NO_LEVEL })),
      ...copies.map(({ path }) => ({ path, reason: COPY })),
    ],
  };
}

/** A series is sent with its folder, which names it, since its files are named by numbers or UIDs; without it where the
 *  folder holds another series. */
function seriesOf({ folder, files }: Series, isShared: boolean): SlideToSend {
  if (files.length === 1 || isShared || folder === '') return slideOf(files, folder);
  const above = folderOf(folder.slice(0, -1));
  const bases = new Set(files.map(({ path }) => baseOf(path)));
  if (bases.size < files.length) return slideOf(files, above);
  return slideOf(files.map((one) => ({ ...one, path: folder + baseOf(one.path) })), above);
}

function others(rest: Rest<Looked>): Grouped {
  const strays = rest.take(() => true).map(({ path, kind }) => ({ path, reason: kind.is === 'left out' ? kind.reason : '' }));
  return { slides: [], strays };
}

/** Empty files hold nothing to send, and S3 takes none in parts. */
function slideOf(ones: readonly Picked[], root: string): SlideToSend {
  const files = ones
    .filter(({ file }) => file.size > 0)
    .map(({ path, file }) => ({ name: path.slice(root.length), file }));
  const size = files.reduce((sum, { file }) => sum + file.size, 0);
  return { name: nameOf(files.map(({ name }) => name)), files, size, folder: root };
}

/** As the server names it, so that an upload is found again: wsi/upload_rules.py. */
function nameOf(names: readonly string[]): string {
  const [first = ''] = names;
  const folder = folderOf(first);
  const holdsAll = folder !== '' && names.length > 1 && names.every((name) => name.startsWith(folder));
  return baseOf(holdsAll ? folder.slice(0, -1) : first);
}

/** Files that nobody has claimed, in the order of their paths. */
class Rest<One extends Picked> {
  private files: One[];

  constructor(files: One[]) {
    this.files = files.sort((one, other) => (one.path < other.path ? -1 : 1));
  }

  take(isWanted: (one: One) => boolean): One[] {
    const taken = this.files.filter(isWanted);
    this.files = this.files.filter((one) => !isWanted(one));
    return taken;
  }

  takeSuffix(suffixes: readonly string[]): One[] {
    return this.take(({ path }) => suffixes.includes(suffixOf(path)));
  }
}

const baseOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);
const withoutSuffix = (path: string) => path.replace(/\.[^./]*$/, '');
