// The map: filters, or values of a parameter, with several memory sizes.

import type { QueryClient } from '../engine/queries.js';
import type { RunRequest } from '../engine/run-protocol.js';
import type { FilterSetting, LogFiles } from '../engine/settings.js';
import { create, filterName, find } from '../ui/element.js';
import { formatBytes, formatCount, formatShare } from '../ui/number-format.js';
import { seriesInOrder, seriesOf, swatch } from '../ui/palette.js';
import type { FilterDescription, Outcome } from '../wasm/dedupstore_wasm.js';
import { type MapListener, type MapPoint, byMemory, drawMap, paretoFront } from './chart.js';
import { MapKeyboard } from './keyboard.js';
import { type MapPlan, type MapSetting, mapPlans, mapSettings } from './plan.js';
import { Sweep, type SweepResult } from './sweep.js';

/** A narrower map is scaled down. */
const MIN_WIDTH = 320;
/** As many skipped settings are named. */
const NAMED = 4;
const MEANING: Readonly<Record<string, string>> = {
  memory: 'A name marks the best filter from that memory on.',
  errors: 'Dashed lines join the best settings of a memory.',
};
const HINT = 'Point at a setting to read it, and click to keep it below; or use the arrow keys and Enter.';

export interface MapHost {
  /** Takes a setting over into the race. */
  use(setting: FilterSetting): void;
  showError(message: string): void;
}

interface SkippedSetting extends FilterSetting {
  error: string;
}

export class MapView {
  readonly #section = find('map', HTMLElement);
  readonly #button = find('map-run', HTMLButtonElement);
  readonly #progress = find('map-progress', HTMLProgressElement);
  readonly #scope = find('map-scope', HTMLElement);
  readonly #chart = find('map-chart', HTMLElement);
  readonly #status = find('map-status', HTMLElement);
  readonly #skipped = find('map-skipped', HTMLElement);
  readonly #pinned = find('map-pinned', HTMLElement);
  readonly #details = find('map-details', HTMLElement);
  readonly #table = find('map-table', HTMLTableElement);
  readonly #planChoice = find('map-plan', HTMLSelectElement);
  readonly #axes = find('map-axes', HTMLSelectElement);
  readonly #legend = find('map-legend', HTMLElement);
  readonly #listener: MapListener = {
    pointed: (point) => {
      this.#status.textContent = point === null ? this.#hint() : inWords(point.outcome);
    },
    chosen: (point) => this.#pin(point),
  };
  readonly #keyboard = new MapKeyboard(this.#chart, this.#listener);
  readonly #queries: QueryClient;
  readonly #host: MapHost;
  #descriptions: FilterDescription[] = [];
  #plans: MapPlan[] = [];
  #request: RunRequest | undefined;
  /** The log of the points that are drawn. */
  #drawnLog: LogFiles | undefined;
  #points: MapPoint[] = [];
  #sweep: Sweep | undefined;
  /** Counts the sweeps, so that one that was stopped while it started does not run. */
  #lastSweep = 0;

  constructor(queries: QueryClient, host: MapHost) {
    this.#queries = queries;
    this.#host = host;
    this.#button.addEventListener('click', () => this.#startOrStop());
    this.#axes.addEventListener('change', () => this.#draw());
  }

  setFilters(descriptions: FilterDescription[]): void {
    this.#descriptions = descriptions;
  }

  /** Offers a map for a run that has finished. A map of the same log stays. */
  offer(request: RunRequest): void {
    this.#stop();
    if (request.log !== this.#drawnLog) {
      this.#clear();
    }
    this.#request = request;
    const chosen = this.#planChoice.selectedOptions[0]?.textContent;
    this.#plans = mapPlans(request, this.#descriptions);
    const options = this.#plans.map(({ label }, index) =>
      create('option', { value: String(index) }, label),
    );
    this.#planChoice.replaceChildren(...options);
    const same = this.#plans.findIndex(({ label }) => label === chosen);
    this.#planChoice.selectedIndex = Math.max(same, 0);
    this.#section.hidden = false;
  }

  #clear(): void {
    this.#details.hidden = true;
    this.#axes.hidden = true;
    this.#points = [];
    this.#chart.replaceChildren();
    this.#keyboard.setPoints([]);
    this.#legend.replaceChildren();
    this.#pinned.replaceChildren();
    this.#scope.textContent = '';
    this.#skipped.textContent = '';
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
    this.#possible(mapSettings(plan, request.filters[0]?.memoryBits ?? 0), request).then(
      ({ settings, skipped }) => {
        if (id === this.#lastSweep) {
          this.#start(request, plan, settings, skipped);
        }
      },
      (error: Error) => this.#fail(error.message),
    );
  }

  #hint(): string {
    return `${MEANING[this.#axes.value] ?? ''} ${HINT}`;
  }

  /** Divides settings into those that are possible, and the others. */
  async #possible(
    all: MapSetting[],
    { part }: RunRequest,
  ): Promise<{ settings: MapSetting[]; skipped: SkippedSetting[] }> {
    const settings = all.map(({ filter, memoryBits }) => ({ filter, memoryBits }));
    const { errors } = await this.#queries.ask({ kind: 'checkSettings', settings, part });
    return {
      settings: all.filter((_, index) => errors[index] === null),
      skipped: settings.flatMap((setting, index) => {
        const error = errors[index] ?? null;
        return error === null ? [] : [{ ...setting, error }];
      }),
    };
  }

  #start(request: RunRequest, plan: MapPlan, settings: MapSetting[], skipped: SkippedSetting[]): void {
    if (settings.length === 0) {
      this.#fail(skipped[0]?.error ?? 'There are no settings to compare.');
      return;
    }
    const filters = settings.map(({ filter, memoryBits }) => ({ filter, memoryBits }));
    this.#sweep = new Sweep(request, filters, {
      progress: (share) => {
        this.#progress.value = share;
      },
      finished: (results) => {
        this.#stop();
        this.#drawnLog = request.log;
        this.#scope.textContent = find('answer-scope', HTMLElement).textContent;
        this.#show(results, plan, settings, skipped);
      },
    });
  }

  #fail(message: string): void {
    this.#stop();
    this.#host.showError(message);
  }

  #stop(): void {
    this.#lastSweep += 1;
    this.#sweep?.cancel();
    this.#sweep = undefined;
    this.#button.textContent = 'Draw the map';
    this.#progress.hidden = true;
  }

  #show(results: SweepResult[], plan: MapPlan, settings: MapSetting[], skipped: SkippedSetting[]): void {
    const series = plan.isSweep ? seriesInOrder(plan.filters.length) : seriesOf(plan.filters);
    const failed: SkippedSetting[] = [];
    this.#points = results.flatMap((result, index) => {
      const setting = settings[index];
      if (setting === undefined) {
        return [];
      }
      if ('error' in result) {
        failed.push({ ...setting, error: result.error });
        return [];
      }
      const { filterIndex, memoryIndex } = setting;
      const style = series[filterIndex] ?? { colour: 0, dash: 0 };
      return [{ outcome: result.outcome, filterIndex, memoryIndex, series: style }];
    });
    this.#pinned.replaceChildren();
    this.#skipped.textContent = skippedNote([...skipped, ...failed]);
    const names = new Map(this.#points.map(({ filterIndex, outcome }) => [filterIndex, outcome]));
    this.#legend.replaceChildren(
      ...[...names].map(([index, outcome]) =>
        create('li', {}, swatch(series[index] ?? { colour: 0, dash: 0 }), filterName(outcome)),
      ),
    );
    // Without missed repeats the points would be on a line.
    const hasFalseNegatives = this.#points.some(({ outcome }) => outcome.falseNegatives > 0);
    this.#axes.hidden = !hasFalseNegatives;
    if (!hasFalseNegatives) {
      this.#axes.value = 'memory';
    }
    this.#draw();
    const optimal = new Set(byMemory(this.#points).flatMap(paretoFront));
    const rows = this.#points.map((point) => this.#tableRow(point, optimal.has(point)));
    this.#table.tBodies[0]?.replaceChildren(...rows);
    this.#details.hidden = false;
    this.#details.dataset['plan'] = plan.label;
  }

  #draw(): void {
    const axes = this.#axes.value === 'errors' ? 'errors' : 'memory';
    const width = Math.max(this.#chart.clientWidth, MIN_WIDTH);
    this.#chart.replaceChildren(drawMap(this.#points, axes, width, this.#listener));
    this.#keyboard.setPoints(this.#points);
    this.#status.textContent = this.#hint();
    const shown =
      axes === 'errors'
        ? 'share of new keys skipped against share of repeats let through'
        : 'share of lines with a wrong verdict against memory';
    this.#chart.setAttribute(
      'aria-label',
      `Scatter chart of ${this.#points.length} settings: ${shown}. The table below has the same numbers.`,
    );
  }

  #tableRow(point: MapPoint, isOptimal: boolean): HTMLTableRowElement {
    const { filter, memoryBits, fpr, fnr, error } = point.outcome;
    const memory = formatBytes(memoryBits / 8);
    const pin = create('button', { type: 'button', class: 'quiet' }, 'Pin');
    pin.setAttribute('aria-label', `Pin ${filter} in ${memory}`);
    pin.addEventListener('click', () => this.#pin(point));
    const name = create('div', { class: 'filter-name' }, swatch(point.series), filterName(point.outcome));
    const rates = [fpr, fnr, error].map(formatShare);
    return create(
      'tr',
      { 'data-filter': filter, 'data-memory-bits': String(memoryBits) },
      create('th', { scope: 'row' }, name),
      ...[memory, ...rates, isOptimal ? 'yes' : ''].map((text) => create('td', {}, text)),
      create('td', { class: 'map-actions' }, this.#useButton(point), pin),
    );
  }

  #pin(point: MapPoint): void {
    const { outcome, series } = point;
    const unpin = create('button', { type: 'button', class: 'quiet' }, 'Unpin');
    unpin.setAttribute('aria-label', `Unpin ${inWords(outcome)}`);
    const text = create('span', {}, inWords(outcome));
    const item = create('li', {}, swatch(series), text, this.#useButton(point), unpin);
    unpin.addEventListener('click', () => item.remove());
    this.#pinned.append(item);
  }

  #useButton({ outcome: { filter, memoryBits } }: MapPoint): HTMLButtonElement {
    const button = create('button', { type: 'button', class: 'quiet' }, 'Use this');
    button.setAttribute('aria-label', `Use this: ${filter} in ${formatBytes(memoryBits / 8)}`);
    button.addEventListener('click', () => this.#host.use({ filter, memoryBits }));
    return button;
  }
}

function inWords({ name, memoryBits, fpr, fnr }: Outcome): string {
  const memory = formatBytes(memoryBits / 8);
  return `${name} in ${memory}: skips ${formatShare(fpr)} of new keys, lets ${formatShare(fnr)} of repeats through`;
}

function skippedNote(skipped: SkippedSetting[]): string {
  if (skipped.length === 0) {
    return '';
  }
  const named = skipped
    .slice(0, NAMED)
    .map(({ filter, memoryBits, error }) => `${filter} in ${formatBytes(memoryBits / 8)} (${error})`);
  const more = skipped.length - named.length;
  const rest = more > 0 ? [`and ${formatCount(more)} more`] : [];
  const subject = skipped.length === 1 ? 'One setting is' : `${skipped.length} settings are`;
  return `${subject} impossible and left out: ${[...named, ...rest].join('; ')}.`;
}
