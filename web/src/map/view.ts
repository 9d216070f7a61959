// The map: filters, or values of a parameter, with several memory sizes.

import type { QueryClient } from '../engine/queries.js';
import type { RunRequest } from '../engine/run-protocol.js';
import { create, find, specText } from '../ui/element.js';
import { formatBytes, formatShare } from '../ui/number-format.js';
import { swatch } from '../ui/palette.js';
import type { FilterDescription, Outcome } from '../wasm/dedupstore_wasm.js';
import { type MapListener, type MapPoint, drawMap, paretoFront } from './chart.js';
import { MapKeyboard } from './keyboard.js';
import { MEMORY_FACTORS, type MapPlan, type MapSetting, mapPlans, mapSettings } from './plan.js';
import { Sweep } from './sweep.js';

const MIN_RADIUS = 3;
const HINT =
  'Point at a setting to read it, and click to pin it; or use the arrow keys and Enter.';

export class MapView {
  readonly #section = find('map', HTMLElement);
  readonly #button = find('map-run', HTMLButtonElement);
  readonly #progress = find('map-progress', HTMLProgressElement);
  readonly #chart = find('map-chart', HTMLElement);
  readonly #status = find('map-status', HTMLElement);
  readonly #pinned = find('map-pinned', HTMLElement);
  readonly #details = find('map-details', HTMLElement);
  readonly #table = find('map-table', HTMLTableElement);
  readonly #planChoice = find('map-plan', HTMLSelectElement);
  readonly #legend = find('map-legend', HTMLElement);
  readonly #listener: MapListener = {
    pointed: (point) => {
      this.#status.textContent = point === null ? this.#hint : inWords(point.outcome);
    },
    chosen: (point) => this.#pin(point),
  };
  readonly #keyboard = new MapKeyboard(this.#chart, this.#listener);
  readonly #queries: QueryClient;
  readonly #showError: (message: string) => void;
  #hint = HINT;
  #descriptions: FilterDescription[] = [];
  #plans: MapPlan[] = [];
  #request: RunRequest | undefined;
  #sweep: Sweep | undefined;
  /** Counts the sweeps, so that one that was stopped while it started does not run. */
  #lastSweep = 0;

  constructor(queries: QueryClient, showError: (message: string) => void) {
    this.#queries = queries;
    this.#showError = showError;
    this.#button.addEventListener('click', () => this.#startOrStop());
  }

  setFilters(descriptions: FilterDescription[]): void {
    this.#descriptions = descriptions;
  }

  /** Offers a map for a run that has finished. */
  offer(request: RunRequest): void {
    this.clear();
    this.#request = request;
    this.#plans = mapPlans(request, this.#descriptions);
    const options = this.#plans.map(({ label }, index) =>
      create('option', { value: String(index) }, label),
    );
    this.#planChoice.replaceChildren(...options);
    this.#section.hidden = false;
  }

  clear(): void {
    this.#stop();
    this.#section.hidden = true;
    this.#details.hidden = true;
    this.#chart.replaceChildren();
    this.#keyboard.setPoints([]);
    this.#legend.replaceChildren();
    this.#pinned.replaceChildren();
    this.#status.textContent = '';
  }

  #startOrStop(): void {
    if (this.#button.textContent === 'Stop') {
      this.#stop();
      return;
    }
    const request = this.#request;
    const plan = this.#plans[Number(this.#planChoice.value)];
    if (request === undefined || plan === undefined) {
      return;
    }
    this.#button.textContent = 'Stop';
    this.#progress.hidden = false;
    this.#progress.value = 0;
    const id = this.#lastSweep;
    this.#possible(mapSettings(plan, request.filters[0]?.memoryBits ?? 0)).then(
      ({ settings, errors }) => {
        if (id === this.#lastSweep) {
          this.#start(request, plan, settings, errors);
        }
      },
      (error: Error) => this.#fail(error.message),
    );
  }

  /** Returns the possible settings, and the errors of the others. */
  async #possible(all: MapSetting[]): Promise<{ settings: MapSetting[]; errors: string[] }> {
    const settings = all.map(({ filter, memoryBits }) => ({ filter, memoryBits }));
    const { errors } = await this.#queries.ask({ kind: 'checkSettings', settings });
    return {
      settings: all.filter((_, index) => errors[index] === null),
      errors: errors.filter((error) => error !== null),
    };
  }

  #start(request: RunRequest, plan: MapPlan, settings: MapSetting[], errors: string[]): void {
    if (settings.length === 0) {
      this.#fail(errors[0] ?? 'There are no settings to compare.');
      return;
    }
    const filters = settings.map(({ filter, memoryBits }) => ({ filter, memoryBits }));
    this.#sweep = new Sweep(request, filters, {
      progress: (share) => {
        this.#progress.value = share;
      },
      finished: (outcomes) => {
        this.#stop();
        this.#show(outcomes, plan, settings, errors);
      },
      failed: (message) => this.#fail(message),
    });
  }

  #fail(message: string): void {
    this.#stop();
    this.#showError(message);
  }

  #stop(): void {
    this.#lastSweep += 1;
    this.#sweep?.cancel();
    this.#sweep = undefined;
    this.#button.textContent = 'Draw the map';
    this.#progress.hidden = true;
  }

  #show(outcomes: Outcome[], plan: MapPlan, settings: MapSetting[], errors: string[]): void {
    const points = outcomes.map((outcome, index): MapPoint => {
      const { filterIndex = 0, memoryIndex = 0 } = settings[index] ?? {};
      return { outcome, filterIndex, radius: MIN_RADIUS + memoryIndex * 0.75 };
    });
    const fronts = MEMORY_FACTORS.map((_, memoryIndex) =>
      paretoFront(outcomes.filter((_, index) => settings[index]?.memoryIndex === memoryIndex)),
    );
    const optimal = new Set(fronts.flat());
    this.#pinned.replaceChildren();
    this.#hint = errors.length === 0 ? HINT : `${HINT} ${omittedNote(errors)}`;
    this.#status.textContent = this.#hint;
    this.#legend.replaceChildren(
      ...plan.filters.map((filter, index) => create('li', {}, swatch(index), specText(filter))),
    );
    this.#chart.replaceChildren(drawMap(points, fronts, this.#listener));
    this.#keyboard.setPoints(points);
    this.#chart.setAttribute(
      'aria-label',
      `Scatter chart of ${points.length} settings: share of new keys dropped against share of ` +
        'repeats missed. The table below has the same numbers.',
    );
    const rows = points.map((point) => this.#tableRow(point, optimal.has(point.outcome)));
    this.#table.tBodies[0]?.replaceChildren(...rows);
    this.#details.hidden = false;
  }

  #tableRow(point: MapPoint, isOptimal: boolean): HTMLTableRowElement {
    const { outcome, filterIndex } = point;
    const { filter, memoryBits, fpr, fnr } = outcome;
    const memory = formatBytes(memoryBits / 8);
    const pin = create('button', { type: 'button', class: 'quiet' }, 'Pin');
    pin.setAttribute('aria-label', `Pin ${filter} in ${memory}`);
    pin.addEventListener('click', () => this.#pin(point));
    const name = create('div', { class: 'filter-name' }, swatch(filterIndex), specText(filter));
    const texts = [memory, formatShare(fpr), formatShare(fnr), isOptimal ? 'yes' : ''];
    return create(
      'tr',
      { 'data-filter': filter, 'data-memory-bits': String(memoryBits) },
      create('th', { scope: 'row' }, name),
      ...texts.map((text) => create('td', {}, text)),
      create('td', {}, pin),
    );
  }

  #pin({ outcome, filterIndex }: MapPoint): void {
    const unpin = create('button', { type: 'button', class: 'quiet' }, 'Unpin');
    unpin.setAttribute('aria-label', `Unpin ${inWords(outcome)}`);
    const text = create('span', {}, inWords(outcome));
    const item = create('li', {}, swatch(filterIndex), text, unpin);
    unpin.addEventListener('click', () => item.remove());
    this.#pinned.append(item);
  }
}

function inWords({ filter, memoryBits, fpr, fnr }: Outcome): string {
  const memory = formatBytes(memoryBits / 8);
  return `${filter} in ${memory}: drops ${formatShare(fpr)} of new keys, misses ${formatShare(fnr)} of repeats`;
}

function omittedNote(errors: string[]): string {
  return errors.length === 1
    ? `One setting is impossible: ${errors[0]}.`
    : `${errors.length} settings are impossible, for example: ${errors[0]}.`;
}
