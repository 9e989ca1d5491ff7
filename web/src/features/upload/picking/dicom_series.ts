/** Groups DICOM files into slides by series, whatever their names and folders, like tessera/local_run/inputs/grouping.py. */
import type { DicomIdentity } from './dicom_identity';
import type { PickedFile } from './file_picker';

export interface DicomFile extends PickedFile {
  identity: DicomIdentity | null; // null if the header is damaged
}

export interface Series {
  folder: string; // the innermost one with all of its files, ending with a slash
  files: DicomFile[];
}

export interface GroupedSeries {
  series: Series[];
  labels: DicomFile[]; // of series without a level
  copies: DicomFile[];
}

const NO_LEVEL = ['LABEL', 'OVERVIEW', 'THUMBNAIL']; // third value of ImageType (PS3.3, C.8.12.4.1.1)

/** A damaged file is added to the only series of its folder, so that the server rejects the slide instead of analysing it incomplete. */
export function groupSeries(files: readonly DicomFile[]): GroupedSeries {
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
  const sorted: GroupedSeries = { series: [], labels: [], copies: [] };
  for (const ones of bySeries.values()) {
    const kept = dropDuplicates(ones, sorted.copies);
    if (kept.every(({ identity }) => identity !== null && NO_LEVEL.includes(identity.kind))) sorted.labels.push(...kept);
    else sorted.series.push({ folder: findCommonFolder(kept), files: kept });
  }
  return sorted;
}

/** Keep the larger of two files of one instance: the other is a copy or a part of it. */
function dropDuplicates(ones: readonly DicomFile[], copies: DicomFile[]): DicomFile[] {
  const kept = new Map<string, DicomFile>();
  for (const one of [...ones].sort((a, b) => b.file.size - a.file.size || (a.path < b.path ? -1 : 1))) {
    const key = one.identity?.instance || one.path;
    if (kept.has(key)) copies.push(one);
    else kept.set(key, one);
  }
  return [...kept.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

function findCommonFolder(ones: readonly PickedFile[]): string {
  const [first = [], ...others] = ones.map(({ path }) => folderOf(path).split('/').slice(0, -1));
  const differs = first.findIndex((part, n) => others.some((other) => other[n] !== part));
  const common = differs < 0 ? first : first.slice(0, differs);
  return common.map((part) => `${part}/`).join('');
}

export const folderOf = (path: string) => path.slice(0, path.lastIndexOf('/') + 1); // ends with a slash
