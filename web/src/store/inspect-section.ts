// Takes a store that the user drops or chooses. The rest is loaded then: a first visit does not
// need it.

import { find } from '../ui/element.js';
import type { StoreInspectView } from './inspect-view.js';
import { TAR_NAME } from './tar-name.js';

export class StoreInspectSection {
  readonly #file = find('store-file', HTMLInputElement);
  #view: Promise<StoreInspectView> | undefined;

  constructor() {
    this.#file.addEventListener('change', () => {
      const files = [...(this.#file.files ?? [])];
      if (files.length > 0) {
        void this.#opened().then((view) => view.inspectFiles(files));
      }
      // Otherwise choosing the same file again would not be noticed.
      this.#file.value = '';
    });
  }

  /** Inspects dropped items if their names are those of a store; returns false otherwise. */
  inspectDropped(dropped: DataTransfer | null): boolean {
    // The items are valid only during the event.
    const entries = [...(dropped?.items ?? [])].map((item) => item.webkitGetAsEntry());
    const directory = entries.find(isDirectory);
    const files = [...(dropped?.files ?? [])];
    if (directory !== undefined) {
      void this.#opened().then((view) => view.inspectDirectory(directory));
      return true;
    }
    const isStore = files.some(({ name }) => TAR_NAME.test(name) || /^image\.[01]$/.test(name));
    if (isStore) {
      void this.#opened().then((view) => view.inspectFiles(files));
    }
    return isStore;
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
