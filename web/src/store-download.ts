// A store that has met the log of the last run, to be taken home.

import { save } from './download.js';
import { find, withCode } from './element.js';
import type { RunOrder } from './protocol.js';
import { type Priming, prime } from './store-errand.js';

/** As in the commands beside the button. */
const STORE_NAME = 'seen.dds';

export class StoreDownload {
  readonly #filter = find('take-filter', HTMLSelectElement);
  readonly #button = find('take-store', HTMLButtonElement);
  readonly #progress = find('take-store-progress', HTMLProgressElement);
  readonly #said = find('take-store-said', HTMLElement);
  readonly #label = this.#button.textContent;
  #order: RunOrder | undefined;
  #priming: Priming | undefined;

  constructor() {
    this.#button.addEventListener('click', () => {
      if (this.#priming === undefined) {
        void this.#make();
      } else {
        this.#end('');
      }
    });
  }

  /**
   * A run is over, at its end or before: a store meets all of the log by itself. Undefined
   * while one is under way.
   */
  offer(order: RunOrder | undefined): void {
    this.#end(order === undefined ? 'A store can be made once the run is over.' : '');
    this.#order = order;
    this.#button.disabled = order === undefined;
  }

  async #make(): Promise<void> {
    const entry = this.#order?.entries[this.#filter.selectedIndex];
    if (this.#order === undefined || entry === undefined) {
      return;
    }
    const { log, name: logName, key, seed } = this.#order;
    const priming = prime({ name: STORE_NAME, log, logName, key, seed, ...entry }, (share) => {
      this.#progress.value = share;
    });
    this.#priming = priming;
    this.#progress.value = 0;
    this.#progress.hidden = false;
    this.#button.textContent = 'Stop making it';
    this.#said.textContent = `${entry.filter} meets all of ${logName}.`;
    let said: string;
    try {
      save(`${STORE_NAME}.tar`, await priming.tar);
      said =
        `\`tar xf ${STORE_NAME}.tar\` unpacks it, and \`dedupstore filter ${STORE_NAME}\` ` +
        `goes on with it where ${logName} ended.`;
    } catch (error) {
      said = error instanceof Error ? error.message : String(error);
    }
    // Unless it was stopped, and perhaps another begun.
    if (this.#priming === priming) {
      this.#end(said);
    }
  }

  #end(said: string): void {
    this.#priming?.cancel();
    this.#priming = undefined;
    this.#progress.hidden = true;
    this.#button.textContent = this.#label;
    this.#said.replaceChildren(...withCode(said));
  }
}
