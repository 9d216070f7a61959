// The report about a store.

import { find, withCode } from '../ui/element.js';
import type { StoreFiles } from './protocol.js';
import { inspectStore } from './requests.js';
import { TAR_NAME } from './tar-name.js';

/** The files of a store do not contain the name of its directory. */
const UNNAMED = 'store.dds';

export class StoreInspectView {
  readonly #section = find('store', HTMLElement);
  readonly #message = find('store-message', HTMLElement);
  readonly #frame = find('store-frame', HTMLElement);
  readonly #report = find('store-report', HTMLElement);
  #lastInspection = 0;

  inspectFiles(files: File[]): Promise<void> {
    return this.#inspect(() => Promise.resolve(fromFiles(files)));
  }

  inspectDirectory(directory: FileSystemDirectoryEntry): Promise<void> {
    return this.#inspect(() => fromDirectory(directory));
  }

  async #inspect(store: () => Promise<StoreFiles>): Promise<void> {
    this.#lastInspection += 1;
    const id = this.#lastInspection;
    this.#message.textContent = '';
    this.#frame.ariaBusy = 'true';
    let report = '';
    let message = '';
    try {
      report = await inspectStore(await store());
    } catch (error) {
      message = error instanceof Error ? error.message : String(error);
    }
    if (id !== this.#lastInspection) {
      return;
    }
    this.#frame.ariaBusy = 'false';
    this.#frame.hidden = report === '';
    this.#report.textContent = report;
    this.#message.replaceChildren(...withCode(message));
    this.#section.scrollIntoView({ block: 'nearest' });
  }
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function fromFiles(files: File[]): StoreFiles {
  const [file, ...others] = files;
  const isSingle = file !== undefined && others.length === 0;
  if (isSingle && TAR_NAME.test(file.name)) {
    return { kind: 'tar', name: file.name, content: file };
  }
  return {
    kind: 'files',
    name: isSingle ? file.name : UNNAMED,
    files: files.map((it) => ({ name: it.name, content: it })),
  };
}

async function fromDirectory(directory: FileSystemDirectoryEntry): Promise<StoreFiles> {
  const reader = directory.createReader();
  const files: { name: string; content: Blob }[] = [];
  // The reader returns some entries per call, and none after the last.
  for (;;) {
    const entries = await new Promise<FileSystemEntry[]>((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (entries.length === 0) {
      return { kind: 'files', name: directory.name, files };
    }
    for (const entry of entries) {
      if (isFile(entry)) {
        const content = await new Promise<File>((resolve, reject) => {
          entry.file(resolve, reject);
        });
        files.push({ name: entry.name, content });
      }
    }
  }
}
