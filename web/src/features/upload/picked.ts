/** Files as somebody chose or dropped them: only what the browser says of them, never their bytes. */

export interface Picked {
  path: string; // with its folders, by forward slashes; the name alone when it was chosen alone
  file: File;
}

/** Of an input, with or without `webkitdirectory`. */
export function fromInput(files: Iterable<File>): Picked[] {
  return Array.from(files, (file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** Of a drop, folders with all that is in them. Must be called while the event is handled: after it nothing is told. */
export function fromDrop(transfer: DataTransfer): Promise<Picked[]> {
  const found = Array.from(transfer.items, async (item): Promise<Picked[]> => {
    const entry = item.kind === 'file' ? item.webkitGetAsEntry() : null;
    if (entry) return below(entry);
    const file = item.getAsFile();
    return file ? [{ path: file.name, file }] : [];
  });
  return Promise.all(found).then((lists) => lists.flat());
}

async function below(entry: FileSystemEntry): Promise<Picked[]> {
  if (isFile(entry)) {
    const file = await new Promise<File>((resolve, reject) => {
      entry.file(resolve, reject);
    });
    return [{ path: entry.fullPath.replace(/^\//, ''), file }];
  }
  if (!isFolder(entry)) return [];
  const found: Picked[] = [];
  for (const child of await childrenOf(entry)) found.push(...(await below(child)));
  return found;
}

async function childrenOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    // Chromium tells 100 at a time, and none at the end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (some.length === 0) return all;
    all.push(...some);
  }
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;
const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;
