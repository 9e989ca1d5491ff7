/** Lists the files that a user chose or dropped, without reading their bytes. */

export interface PickedFile {
  path: string; // with its folders and forward slashes; the name alone for a file that was chosen alone
  file: File;
}

/** Return the files of an input, with or without `webkitdirectory`. */
export function readInputFiles(files: Iterable<File>): PickedFile[] {
  return Array.from(files, (file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** Return the files of a drop, including all files in its folders. Call this while the event is handled: later the browser lists nothing. */
export function readDroppedFiles(transfer: DataTransfer): Promise<PickedFile[]> {
  const found = Array.from(transfer.items, async (item): Promise<PickedFile[]> => {
    const entry = item.kind === 'file' ? item.webkitGetAsEntry() : null;
    if (entry) return listFiles(entry);
    const file = item.getAsFile();
    return file ? [{ path: file.name, file }] : [];
  });
  return Promise.all(found).then((lists) => lists.flat());
}

async function listFiles(entry: FileSystemEntry): Promise<PickedFile[]> {
  if (isFile(entry)) {
    const file = await new Promise<File>((resolve, reject) => {
      entry.file(resolve, reject);
    });
    return [{ path: entry.fullPath.replace(/^\//, ''), file }];
  }
  if (!isFolder(entry)) return [];
  const found: PickedFile[] = [];
  for (const child of await listEntries(entry)) found.push(...(await listFiles(child)));
  return found;
}

async function listEntries(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    // Chromium returns 100 entries at a time, and none at the end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (some.length === 0) return all;
    all.push(...some);
  }
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;
const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;
