// The files of a dropped directory, without those of directories in it.

export async function filesOf(directory: FileSystemDirectoryEntry): Promise<File[]> {
  const reader = directory.createReader();
  const files: File[] = [];
  // The reader returns some entries per call, and none after the last.
  for (;;) {
    const entries = await new Promise<FileSystemEntry[]>((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (entries.length === 0) {
      return files;
    }
    for (const entry of entries.filter(isFile)) {
      files.push(await new Promise<File>((resolve, reject) => entry.file(resolve, reject)));
    }
  }
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}
