// A store that somebody drops or chooses, and what it says of itself.

import { find, withCode } from './element.js';
import { lookInto } from './store-errand.js';
import type { GivenStore } from './store-protocol.js';

/** What a tar is called, packed by gzip or not. */
const TAR_NAME = /\.tar$|\.tar\.gz$|\.tgz$/;
/** A store's files without its directory have no name. */
const UNNAMED = 'store.dds';

export class StoreView {
  readonly #section = find('store', HTMLElement);
  readonly #file = find('store-file', HTMLInputElement);
  readonly #message = find('store-message', HTMLElement);
  readonly #frame = find('store-frame', HTMLElement);
  readonly #report = find('store-report', HTMLElement);
  #looks = 0;

  constructor() {
    this.#file.addEventListener('change', () => {
      const files = [...(this.#file.files ?? [])];
      if (files.length > 0) {
        void this.#show(() => Promise.resolve(ofFiles(files)));
      }
      // The same file may be chosen again after it has changed.
      this.#file.value = '';
    });
  }

  /** Takes what was dropped if it is a store, by its names; false if it is a log. */
  take(dropped: DataTransfer | null): boolean {
    // What was dropped is gone by the next turn.
    const entries = [...(dropped?.items ?? [])].map((item) => item.webkitGetAsEntry());
    const directory = entries.find(isDirectory);
    const files = [...(dropped?.files ?? [])];
    if (directory !== undefined) {
      void this.#show(() => ofDirectory(directory));
      return true;
    }
    const isStore = files.some(({ name }) => TAR_NAME.test(name) || /^image\.[01]$/.test(name));
    if (isStore) {
      void this.#show(() => Promise.resolve(ofFiles(files)));
    }
    return isStore;
  }

  async #show(given: () => Promise<GivenStore>): Promise<void> {
    this.#looks += 1;
    const look = this.#looks;
    this.#message.textContent = '';
    this.#frame.ariaBusy = 'true';
    let report = '';
    let message = '';
    try {
      report = await lookInto(await given());
    } catch (error) {
      message = error instanceof Error ? error.message : String(error);
    }
    if (look !== this.#looks) {
      return;
    }
    this.#frame.ariaBusy = 'false';
    this.#frame.hidden = report === '';
    this.#report.textContent = report;
    this.#message.replaceChildren(...withCode(message));
    this.#section.scrollIntoView({ block: 'nearest' });
  }
}

function isDirectory(entry: FileSystemEntry | null): entry is FileSystemDirectoryEntry {
  return entry?.isDirectory === true;
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function ofFiles(files: File[]): GivenStore {
  const [file] = files;
  return files.length === 1 && file !== undefined && TAR_NAME.test(file.name)
    ? { kind: 'tar', name: file.name, content: file }
    : { kind: 'files', name: UNNAMED, files: files.map((it) => ({ name: it.name, content: it })) };
}

async function ofDirectory(directory: FileSystemDirectoryEntry): Promise<GivenStore> {
  const reader = directory.createReader();
  const files: { name: string; content: Blob }[] = [];
  // A reader hands over some at a time, and nothing at the end.
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
