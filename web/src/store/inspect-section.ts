// Takes a store that the user drops or chooses. The rest is loaded then: a first visit does not
// need it. A directory that is no store has logs.

import { find } from '../ui/element.js';
import type { StoreInspectView } from './inspect-view.js';
import { TAR_NAME } from './tar-name.js';

/** A file that every store has. */
const STORE_FILE = /^image\.[01]$/;

export interface StoreInspectHost {
  /** Reads the files of a dropped directory as a log. */
  useFiles(files: File[]): void;
  showError(message: string): void;
}

export class StoreInspectSection {
  readonly #host: StoreInspectHost;
  readonly #file = find('store-file', HTMLInputElement);
  #view: Promise<StoreInspectView> | undefined;

  constructor(host: StoreInspectHost) {
    this.#host = host;
    this.#file.addEventListener('change', () => {
      const files = [...(this.#file.files ?? [])];
      if (files.length > 0) {
        void this.#opened().then((view) => view.inspectFiles(files));
      }
      // Otherwise choosing the same file again would not be noticed.
      this.#file.value = '';
    });
  }

  /** Takes dropped items if they are a directory or have the names of a store's files. */
  inspectDropped(dropped: DataTransfer | null): boolean {
    // The items are valid only during the event.
    const entries = [...(dropped?.items ?? [])].map((item) => item.webkitGetAsEntry());
    const directory = entries.find(isDirectory);
    const files = [...(dropped?.files ?? [])];
    if (directory !== undefined) {
      void this.#useDirectory(directory);
      return true;
    }
    const isStore = files.some(({ name }) => TAR_NAME.test(name) || STORE_FILE.test(name));
    if (isStore) {
      void this.#opened().then((view) => view.inspectFiles(files));
    }
    return isStore;
  }

  async #useDirectory(directory: FileSystemDirectoryEntry): Promise<void> {
    const { name } = directory;
    const { filesOf } = await import('./directory.js');
    const files = await filesOf(directory);
    if (name.endsWith('.dds') || files.some(({ name }) => STORE_FILE.test(name))) {
      await (await this.#opened()).inspectDirectory(name, files);
      return;
    }
    const logs = files.filter(({ name }) => !name.startsWith('.'));
    if (logs.length > 0) {
      this.#host.useFiles(logs);
    } else {
      this.#host.showError(`The directory ${name} has no files: drop logs, or a store.`);
    }
  }

  #opened(): Promise<StoreInspectView> {
    this.#view ??= import('./inspect-view.js').then(
      ({ StoreInspectView }) => new StoreInspectView(),
    );
    return this.#view;
  }
}

function isDirectory(entry: FileSystemEntry | null): entry is FileSystemDirectoryEntry {
  return entry?.isDirectory === true;
}
