// The map: filters, or values of a parameter, in memories below and above the one that is
// set.

import { find, make, specText } from './element.js';
import type { Clerk } from './engine.js';
import { drawMap, front, type MapListener, type MapPoint } from './map-chart.js';
import { MapKeys } from './map-keys.js';
import { FACTORS, type MapPlan, type MapSetting, plansOf, settingsOf } from './map-plan.js';
import { formatBytes, formatShare } from './number-format.js';
import { swatch } from './palette.js';
import type { FilterDescription, OutcomeRow, RunOrder } from './protocol.js';
import { Sweep } from './sweep.js';

const LEAST_RADIUS = 3;
const POINT_HINT =
  'Point at a setting to read it, click to pin it; or by keyboard, with the arrow keys and Enter.';

export class MapView {
  readonly #section = find('map', HTMLElement);
  readonly #button = find('map-run', HTMLButtonElement);
  readonly #bar = find('map-progress', HTMLProgressElement);
  readonly #chart = find('map-chart', HTMLElement);
  readonly #said = find('map-said', HTMLElement);
  readonly #pinned = find('map-pinned', HTMLElement);
  readonly #twin = find('map-twin', HTMLElement);
  readonly #table = find('map-table', HTMLTableElement);
  readonly #what = find('map-what', HTMLSelectElement);
  readonly #key = find('map-key', HTMLElement);
  readonly #listener: MapListener = {
    pointed: (point) => {
      this.#said.textContent = point === null ? this.#hint : inWords(point.row);
    },
    picked: (point) => this.#pin(point),
  };
  readonly #keys = new MapKeys(this.#chart, this.#listener);
  #hint = POINT_HINT;
  readonly #clerk: Clerk;
  readonly #complain: (message: string) => void;
  #registry: FilterDescription[] = [];
  #plans: MapPlan[] = [];
  #order: RunOrder | undefined;
  #sweep: Sweep | undefined;
  /** Counts what was begun, so that what was stopped before it began does not begin. */
  #begun = 0;

  constructor(clerk: Clerk, complain: (message: string) => void) {
    this.#clerk = clerk;
    this.#complain = complain;
    this.#button.addEventListener('click', () => this.#startOrStop());
  }

  know(registry: FilterDescription[]): void {
    this.#registry = registry;
  }

  /** A run has ended: the same can be swept. */
  offer(order: RunOrder): void {
    this.clear();
    this.#order = order;
    this.#plans = plansOf(order, this.#registry);
    const options = this.#plans.map(({ label }, place) =>
      make('option', { value: String(place) }, label),
    );
    this.#what.replaceChildren(...options);
    this.#section.hidden = false;
  }

  clear(): void {
    this.#stop();
    this.#section.hidden = true;
    this.#twin.hidden = true;
    this.#chart.replaceChildren();
    this.#keys.show([]);
    this.#key.replaceChildren();
    this.#pinned.replaceChildren();
    this.#said.textContent = '';
  }

  #startOrStop(): void {
    if (this.#button.textContent === 'Stop') {
      this.#stop();
      return;
    }
    const order = this.#order;
    const plan = this.#plans[Number(this.#what.value)];
    if (order === undefined || plan === undefined) {
      return;
    }
    this.#button.textContent = 'Stop';
    this.#bar.hidden = false;
    this.#bar.value = 0;
    const mine = this.#begun;
    this.#fitting(settingsOf(plan, order.entries[0]?.memoryBits ?? 0)).then(
      ({ settings, reasons }) => {
        if (mine === this.#begun) {
          this.#begin(order, plan, settings, reasons);
        }
      },
      (error: Error) => this.#fail(error.message),
    );
  }

  /** The settings that work, and why the others do not. */
  async #fitting(all: MapSetting[]): Promise<{ settings: MapSetting[]; reasons: string[] }> {
    const entries = all.map(({ filter, memoryBits }) => ({ filter, memoryBits }));
    const { misfits } = await this.#clerk.ask({ kind: 'misfits', entries });
    return {
      settings: all.filter((_, index) => misfits[index] === null),
      reasons: misfits.filter((reason) => reason !== null),
    };
  }

  #begin(order: RunOrder, plan: MapPlan, settings: MapSetting[], reasons: string[]): void {
    if (settings.length === 0) {
      this.#fail(reasons[0] ?? 'There is nothing to sweep.');
      return;
    }
    const entries = settings.map(({ filter, memoryBits }) => ({ filter, memoryBits }));
    this.#sweep = new Sweep(order, entries, {
      progress: (share) => {
        this.#bar.value = share;
      },
      finished: (outcomes) => {
        this.#stop();
        this.#show(outcomes, plan, settings, reasons);
      },
      failed: (message) => this.#fail(message),
    });
  }

  #fail(message: string): void {
    this.#stop();
    this.#complain(message);
  }

  #stop(): void {
    this.#begun += 1;
    this.#sweep?.cancel();
    this.#sweep = undefined;
    this.#button.textContent = 'Draw the map';
    this.#bar.hidden = true;
  }

  #show(outcomes: OutcomeRow[], plan: MapPlan, settings: MapSetting[], reasons: string[]): void {
    const points = outcomes.map((row, index): MapPoint => {
      const { place = 0, step = 0 } = settings[index] ?? {};
      return { row, place, radius: LEAST_RADIUS + step * 0.75 };
    });
    const fronts = FACTORS.map((_, step) =>
      front(outcomes.filter((_, index) => settings[index]?.step === step)),
    );
    const best = new Set(fronts.flat());
    this.#pinned.replaceChildren();
    this.#hint = reasons.length === 0 ? POINT_HINT : `${POINT_HINT} ${leftOut(reasons)}`;
    this.#said.textContent = this.#hint;
    this.#key.replaceChildren(
      ...plan.filters.map((filter, place) => make('li', {}, swatch(place), specText(filter))),
    );
    this.#chart.replaceChildren(drawMap(points, fronts, this.#listener));
    this.#keys.show(points);
    const summary = `Scatter chart of ${points.length} settings: share of new keys dropped against share of repeats missed. The table below has the same.`;
    this.#chart.setAttribute('aria-label', summary);
    const rows = points.map((point) => this.#tableRow(point, best.has(point.row)));
    this.#table.tBodies[0]?.replaceChildren(...rows);
    this.#twin.hidden = false;
  }

  #tableRow(point: MapPoint, isBest: boolean): HTMLTableRowElement {
    const { row, place } = point;
    const pin = make('button', { type: 'button', class: 'quiet' }, 'Pin');
    pin.setAttribute('aria-label', `Pin ${row.filter} in ${formatBytes(row.memoryBits / 8)}`);
    pin.addEventListener('click', () => this.#pin(point));
    const name = make('div', { class: 'filter-name' }, swatch(place), specText(row.filter));
    const cells = [formatBytes(row.memoryBits / 8), formatShare(row.fpr), formatShare(row.fnr)];
    return make(
      'tr',
      { 'data-filter': row.filter, 'data-memory-bits': String(row.memoryBits) },
      make('th', { scope: 'row' }, name),
      ...cells.map((text) => make('td', {}, text)),
      make('td', {}, isBest ? 'yes' : ''),
      make('td', {}, pin),
    );
  }

  #pin({ row, place }: MapPoint): void {
    const remove = make('button', { type: 'button', class: 'quiet' }, 'Remove');
    remove.setAttribute('aria-label', `Remove the pin of ${inWords(row)}`);
    const item = make('li', {}, swatch(place), make('span', {}, inWords(row)), remove);
    remove.addEventListener('click', () => item.remove());
    this.#pinned.append(item);
  }
}

function inWords({ filter, memoryBits, fpr, fnr }: OutcomeRow): string {
  const memory = formatBytes(memoryBits / 8);
  return `${filter} in ${memory}: drops ${formatShare(fpr)} of new keys, misses ${formatShare(fnr)} of repeats`;
}

function leftOut(reasons: string[]): string {
  const settings = reasons.length === 1 ? 'One setting is' : `${reasons.length} settings are`;
  return `${settings} left out: ${reasons[0]}.`;
}
