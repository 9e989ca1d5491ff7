/** Which DICOM files make one slide: all of one series, whatever their names and folders, as client/inputs/grouping.py. */
import type { Identity } from './dicom_identity';
import type { Picked } from './picked';

export interface DicomFile extends Picked {
  identity: Identity | null; // null where the header is damaged
}

export interface Series {
  folder: string; // that holds all of its files, with its slash
  files: DicomFile[];
}

export interface Sorted {
  series: Series[];
  labels: DicomFile[]; // of series without a level
  copies: DicomFile[];
}

const NO_LEVEL = ['LABEL', 'OVERVIEW', 'THUMBNAIL']; // third value of ImageType (PS3.3, C.8.12.4.1.1)

/** A damaged file belongs to the one series of its folder, so that the slide is rejected for it and not analysed without. */
export function sortSeries(files: readonly DicomFile[]): Sorted {
  const bySeries = new Map<string, DicomFile[]>();
  const inFolder = new Map<string, Set<string>>();
  const add = (key: string, file: DicomFile) => bySeries.set(key, [...(bySeries.get(key) ?? []), file]);
  for (const file of files) {
    const key = file.identity?.series;
    if (!key) continue;
    add(key, file);
    inFolder.set(folderOf(file.path), (inFolder.get(folderOf(file.path)) ?? new Set()).add(key));
  }
  for (const file of files) {
    if (file.identity?.series) continue;
    const [only, another] = inFolder.get(folderOf(file.path)) ?? [];
    add(only !== undefined && another === undefined ? only : `${folderOf(file.path)}/`, file);
  }
  const sorted: Sorted = { series: [], labels: [], copies: [] };
  for (const ones of bySeries.values()) {
    const kept = eachInstanceOnce(ones, sorted.copies);
    if (kept.every(({ identity }) => identity !== null && NO_LEVEL.includes(identity.kind))) sorted.labels.push(...kept);
    else sorted.series.push({ folder: commonFolder(kept), files: kept });
  }
  return sorted;
}

/** Of two files of one instance the larger one counts: the other is a copy or a part of it. */
function eachInstanceOnce(ones: readonly DicomFile[], copies: DicomFile[]): DicomFile[] {
  const kept = new Map<string, DicomFile>();
  for (const one of [...ones].sort((a, b) => b.file.size - a.file.size || (a.path < b.path ? -1 : 1))) {
    const key = one.identity?.instance || one.path;
    if (kept.has(key)) copies.push(one);
    else kept.set(key, one);
  }
  return [...kept.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

function commonFolder(ones: readonly Picked[]): string {
  const [first = [], ...others] = ones.map(({ path }) => folderOf(path).split('/').slice(0, -1));
  const differs = first.findIndex((part, n) => others.some((other) => other[n] !== part));
  const common = differs < 0 ? first : first.slice(0, differs);
  return common.map((part) => `${part}/`).join('');
}

export const folderOf = (path: string) => path.slice(0, path.lastIndexOf('/') + 1); // with its slash
