// Builds a store that has observed the log of the last run, for download.

import type { RunRequest } from '../engine/run-protocol.js';
import { shellCommand } from '../export/shell.js';
import { find, withCode } from '../ui/element.js';
import { saveFile } from '../ui/save-file.js';
import { type PendingStore, buildStore } from './requests.js';

/** The name in the commands beside the button. */
const STORE_NAME = 'seen.dds';

export class StoreDownload {
  readonly #filter = find('export-filter', HTMLSelectElement);
  readonly #button = find('export-store', HTMLButtonElement);
  readonly #progress = find('export-store-progress', HTMLProgressElement);
  readonly #status = find('export-store-status', HTMLElement);
  readonly #label = this.#button.textContent;
  #offer: RunRequest | undefined;
  #pending: PendingStore | undefined;

  constructor() {
    this.#button.addEventListener('click', () => {
      if (this.#pending === undefined) {
        void this.#build();
      } else {
        this.#end('');
      }
    });
  }

  /**
   * Offers the store of a run that has ended. A cancelled run is enough: the store reads the
   * whole log itself. Undefined while a run is in progress.
   */
  offer(offer: RunRequest | undefined): void {
    this.#end(offer === undefined ? 'A store can be built when the run has ended.' : '');
    this.#offer = offer;
    this.#button.disabled = offer === undefined;
  }

  async #build(): Promise<void> {
    const setting = this.#offer?.filters[this.#filter.selectedIndex];
    if (this.#offer === undefined || setting === undefined) {
      return;
    }
    const { log, name: logName, key, seed } = this.#offer;
    const build = { name: STORE_NAME, log, key, seed, ...setting };
    const pending = buildStore(build, (share) => {
      this.#progress.value = share;
    });
    this.#pending = pending;
    this.#progress.value = 0;
    this.#progress.hidden = false;
    this.#button.textContent = 'Stop building';
    this.#status.textContent = `${setting.filter} observes all of ${logName}.`;
    let status: string;
    try {
      saveFile(`${STORE_NAME}.tar`, await pending.tar);
      // The store records the key.
      const next = shellCommand(['dedupstore', 'filter', STORE_NAME]);
      status =
        `Unpack it with \`tar xf ${STORE_NAME}.tar\`. ` +
        `\`${next}\` then continues where ${logName} ends.`;
    } catch (error) {
      status = error instanceof Error ? error.message : String(error);
    }
    // Not if it was cancelled meanwhile.
    if (this.#pending === pending) {
      this.#end(status);
    }
  }

  #end(status: string): void {
    this.#pending?.cancel();
    this.#pending = undefined;
    this.#progress.hidden = true;
    this.#button.textContent = this.#label;
    this.#status.replaceChildren(...withCode(status));
  }
}
