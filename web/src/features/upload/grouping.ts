/** Which of the chosen files make one slide, as client/inputs.py has it for the command line. */
import type { Picked } from './picked';

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

const ALONE = ['.svs', '.tif', '.tiff', '.btf', '.ndpi', '.scn', '.bif', '.svslide'];
const RESULT = 'heatmap.ome.tif'; // of ours
const UNNAMED = /^(\.|thumbs\.db$|desktop\.ini$|dicomdir$)/i; // what systems keep beside files; nobody chose them

const NO_SLIDE = `It is no slide: those end in ${ALONE.join(', ')}, .mrxs, .vms or .vmu, or are DICOM.`;
const NO_DATA = 'Its folder of the same name is missing: add both together, or the folder that holds both.';
const NO_SYSTEM = 'Hidden and system files hold no slide.';
const NO_MRXS = 'It holds the data of a MIRAX slide whose .mrxs file is missing: add both together.';

/** Reads a few bytes of those files whose name does not say what they are. */
export async function groupSlides(picked: readonly Picked[]): Promise<Grouped> {
  const isUnnamed = ({ path }: Picked) => path.split('/').some((part) => UNNAMED.test(part));
  const rest = new Rest(picked.filter((one) => !isUnnamed(one)));
  const sure = [mirax(rest), miraxData(rest), hamamatsu(rest), alone(rest)];
  const { slides, strays } = await dicom(rest);
  return {
    slides: [...sure.flatMap((found) => found.slides), ...slides],
    strays: [...sure.flatMap((found) => found.strays), ...strays, ...system(picked.filter(isUnnamed))],
  };
}

/** In one line: macOS and Windows put them into every folder. */
function system(unnamed: readonly Picked[]): Stray[] {
  const [first] = unnamed;
  if (!first) return [];
  const more = unnamed.length > 1 ? ` and ${unnamed.length - 1} more` : '';
  return [{ path: first.path + more, reason: NO_SYSTEM }];
}

function mirax(rest: Rest): Grouped {
  const found: Grouped = { slides: [], strays: [] };
  for (const one of rest.takeSuffix(['.mrxs'])) {
    const folder = `${withoutSuffix(one.path)}/`;
    const data = rest.take(({ path }) => folderOf(path) === folder);
    if (data.length > 0) found.slides.push(slideOf([one, ...data], folderOf(one.path)));
    else found.strays.push({ path: one.path, reason: NO_DATA });
  }
  return found;
}

function miraxData(rest: Rest): Grouped {
  const lists = rest.take(({ path }) => baseOf(path).toLowerCase() === 'slidedat.ini');
  const strays = lists.map(({ path: list }) => {
    rest.take(({ path }) => folderOf(path) === folderOf(list));
    return { path: folderOf(list) || list, reason: NO_MRXS };
  });
  return { slides: [], strays };
}

function hamamatsu(rest: Rest): Grouped {
  const slides = rest.takeSuffix(['.vms', '.vmu']).map((one) => {
    const folder = folderOf(one.path);
    const beside = rest.take(({ path }) => folderOf(path) === folder && path.startsWith(withoutSuffix(one.path)));
    return slideOf([one, ...beside], folder);
  });
  return { slides, strays: [] };
}

function alone(rest: Rest): Grouped {
  const found: Grouped = { slides: [], strays: [] };
  for (const one of rest.takeSuffix(ALONE)) {
    if (baseOf(one.path) === RESULT) found.strays.push({ path: one.path, reason: 'It is a result of an analysis, not a slide.' });
    else if (one.file.size === 0) found.strays.push({ path: one.path, reason: 'The file is empty.' });
    else found.slides.push(slideOf([one], folderOf(one.path)));
  }
  return found;
}

/** What is left: a series a folder, which names it, since its files are named by numbers or UIDs; and what is none. */
async function dicom(rest: Rest): Promise<Grouped> {
  const series = new Map<string, Picked[]>();
  const strays: Stray[] = [];
  for (const one of rest.take(() => true)) {
    const folder = folderOf(one.path);
    if (one.file.size === 0) strays.push({ path: one.path, reason: 'The file is empty.' });
    else if (await isDicom(one)) series.set(folder, [...(series.get(folder) ?? []), one]);
    else strays.push({ path: one.path, reason: NO_SLIDE });
  }
  const slides = Array.from(series, ([folder, ones]) => slideOf(ones, ones.length > 1 ? folderOf(folder.slice(0, -1)) : folder));
  return { slides, strays };
}

/** By name too: a damaged file of a series must not be left out in silence. */
async function isDicom({ path, file }: Picked): Promise<boolean> {
  return suffixOf(path) === '.dcm' || (await file.slice(128, 132).text()) === 'DICM';
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
class Rest {
  private files: Picked[];

  constructor(files: Picked[]) {
    this.files = files.sort((one, other) => (one.path < other.path ? -1 : 1));
  }

  take(isWanted: (one: Picked) => boolean): Picked[] {
    const taken = this.files.filter(isWanted);
    this.files = this.files.filter((one) => !isWanted(one));
    return taken;
  }

  takeSuffix(suffixes: readonly string[]): Picked[] {
    return this.take(({ path }) => suffixes.includes(suffixOf(path)));
  }
}

const baseOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);
const folderOf = (path: string) => path.slice(0, path.lastIndexOf('/') + 1); // with its slash
const suffixOf = (path: string) => /\.[^./]*$/.exec(path.toLowerCase())?.[0] ?? '';
const withoutSuffix = (path: string) => path.replace(/\.[^./]*$/, '');
