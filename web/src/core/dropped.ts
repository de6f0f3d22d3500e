// The files in what a person dropped or chose, with their paths: `leak/a/b.pdf`.

export interface Picked {
  path: string;
  file: File;
}

// More than this at once is for `quern add`, which keeps no list in memory.
export const filesMax = 200_000;
const atOnce = 100; // asking for one file after the other takes seconds for thousands

export class TooManyFiles extends Error {
  constructor() {
    super(`This folder has more than ${filesMax.toLocaleString()} files. Add it with "quern add FOLDER" on the server's machine instead.`);
  }
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

async function pickOne(entry: FileSystemEntry): Promise<Picked> {
  return { path: entry.fullPath.replace(/^\//, ''), file: await fileOf(entry as FileSystemFileEntry) };
}

// The browser gives a folder's entries in portions, until an empty one.
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    all.push(...some);
    if (all.length > filesMax) throw new TooManyFiles();
  }
}

// Folders are walked with a list, not with the stack: depth is the sender's to choose.
export async function pickDropped(items: DataTransferItemList): Promise<Picked[]> {
  const waiting: FileSystemEntry[] = [];
  const picked: Picked[] = [];
  for (const item of Array.from(items)) {
    if (item.kind !== 'file') continue;
    const entry = item.webkitGetAsEntry();
    const file = item.getAsFile();
    if (entry) waiting.push(entry);
    else if (file) picked.push({ path: file.name, file });
  }
  while (waiting.length > 0) {
    const some = waiting.splice(-atOnce);
    for (const entry of some.filter((one) => one.isDirectory)) {
      for (const inside of await entriesOf(entry as FileSystemDirectoryEntry)) waiting.push(inside);
    }
    picked.push(...(await Promise.all(some.filter((one) => !one.isDirectory).map(pickOne))));
    if (picked.length + waiting.length > filesMax) throw new TooManyFiles();
  }
  return picked;
}

export function pickChosen(files: FileList | null): Picked[] {
  const all = Array.from(files ?? []);
  if (all.length > filesMax) throw new TooManyFiles();
  return all.map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}
