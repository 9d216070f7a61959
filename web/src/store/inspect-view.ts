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
    return this.#inspect(fromFiles(files));
  }

  inspectDirectory(name: string, files: File[]): Promise<void> {
    return this.#inspect({ kind: 'files', name, files: files.map(withContent) });
  }

  async #inspect(store: StoreFiles): Promise<void> {
    this.#lastInspection += 1;
    const id = this.#lastInspection;
    this.#message.textContent = '';
    this.#frame.ariaBusy = 'true';
    let report = '';
    let message = '';
    try {
      report = await inspectStore(store);
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

function fromFiles(files: File[]): StoreFiles {
  const [file, ...others] = files;
  const isSingle = file !== undefined && others.length === 0;
  if (isSingle && TAR_NAME.test(file.name)) {
    return { kind: 'tar', name: file.name, content: file };
  }
  return {
    kind: 'files',
    name: isSingle ? file.name : UNNAMED,
    files: files.map(withContent),
  };
}

function withContent(file: File): { name: string; content: Blob } {
  return { name: file.name, content: file };
}
