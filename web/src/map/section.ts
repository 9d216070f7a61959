// The section of the map, which loads its content when it comes into view: a first visit does
// not need it.

import type { QueryClient } from '../engine/queries.js';
import type { RunRequest } from '../engine/run-protocol.js';
import { find } from '../ui/element.js';
import type { FilterDescription } from '../wasm/dedupstore_wasm.js';
import type { MapHost, MapView } from './view.js';

export class MapSection {
  readonly #queries: QueryClient;
  readonly #host: MapHost;
  readonly #section = find('map', HTMLElement);
  readonly #button = find('map-run', HTMLButtonElement);
  #descriptions: FilterDescription[] = [];
  #request: RunRequest | undefined;
  #view: MapView | undefined;
  #opening: Promise<void> | undefined;

  constructor(queries: QueryClient, host: MapHost) {
    this.#queries = queries;
    this.#host = host;
    this.#button.addEventListener('click', () => void this.#openAndDraw(), { once: true });
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) {
        observer.disconnect();
        void this.#opened();
      }
    });
    observer.observe(this.#section);
  }

  setFilters(descriptions: FilterDescription[]): void {
    this.#descriptions = descriptions;
    this.#view?.setFilters(descriptions);
  }

  /** Offers a map for a run that has finished. A map of the same log stays. */
  offer(request: RunRequest): void {
    this.#request = request;
    this.#section.hidden = false;
    this.#view?.offer(request);
  }

  /** A click before the content has been loaded is repeated. */
  async #openAndDraw(): Promise<void> {
    if (this.#view === undefined) {
      await this.#opened();
      this.#button.click();
    }
  }

  #opened(): Promise<void> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async #open(): Promise<void> {
    const { MapView } = await import('./view.js');
    this.#view = new MapView(this.#queries, this.#host);
    this.#view.setFilters(this.#descriptions);
    if (this.#request !== undefined) {
      this.#view.offer(this.#request);
    }
  }
}
