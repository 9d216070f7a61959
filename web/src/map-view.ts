// The map: the filters of the form in memories below and above the one that is set.

import { find, make, specText } from './element.js';
import { drawMap, front, type MapPoint } from './map-chart.js';
import { formatBytes, formatShare } from './number-format.js';
import { swatch } from './palette.js';
import type { Entry, OutcomeRow, RunOrder } from './protocol.js';
import { Sweep } from './sweep.js';

/** From an eighth of the memory to eight times as much. */
const FACTORS = [1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8];
const LEAST_RADIUS = 3;

export class MapView {
  readonly #section = find('map', HTMLElement);
  readonly #button = find('map-run', HTMLButtonElement);
  readonly #bar = find('map-progress', HTMLProgressElement);
  readonly #chart = find('map-chart', HTMLElement);
  readonly #said = find('map-said', HTMLElement);
  readonly #pinned = find('map-pinned', HTMLElement);
  readonly #twin = find('map-twin', HTMLElement);
  readonly #table = find('map-table', HTMLTableElement);
  readonly #complain: (message: string) => void;
  #order: RunOrder | undefined;
  #sweep: Sweep | undefined;

  constructor(complain: (message: string) => void) {
    this.#complain = complain;
    this.#button.addEventListener('click', () => this.#startOrStop());
  }

  /** A run has ended: the same can be swept. */
  offer(order: RunOrder): void {
    this.clear();
    this.#order = order;
    this.#section.hidden = false;
  }

  clear(): void {
    this.#stop();
    this.#section.hidden = true;
    this.#twin.hidden = true;
    this.#chart.replaceChildren();
    this.#pinned.replaceChildren();
    this.#said.textContent = '';
  }

  #startOrStop(): void {
    if (this.#sweep !== undefined) {
      this.#stop();
      return;
    }
    const order = this.#order;
    if (order === undefined) {
      return;
    }
    const entries = FACTORS.flatMap((factor) =>
      order.entries.map(
        ({ filter, memoryBits }): Entry => ({ filter, memoryBits: Math.ceil(memoryBits * factor) }),
      ),
    );
    this.#button.textContent = 'Stop';
    this.#bar.hidden = false;
    this.#bar.value = 0;
    this.#sweep = new Sweep(order, entries, {
      progress: (share) => {
        this.#bar.value = share;
      },
      finished: (outcomes) => {
        this.#stop();
        this.#show(outcomes, order.entries.length);
      },
      failed: (message) => {
        this.#stop();
        this.#complain(message);
      },
    });
  }

  #stop(): void {
    this.#sweep?.cancel();
    this.#sweep = undefined;
    this.#button.textContent = 'Draw the map';
    this.#bar.hidden = true;
  }

  #show(outcomes: OutcomeRow[], filterCount: number): void {
    const points = outcomes.map((row, index): MapPoint => {
      const step = Math.floor(index / filterCount);
      return { row, place: index % filterCount, radius: LEAST_RADIUS + step * 0.75 };
    });
    const fronts = FACTORS.map((_, step) =>
      front(outcomes.slice(step * filterCount, (step + 1) * filterCount)),
    );
    const best = new Set(fronts.flat());
    this.#pinned.replaceChildren();
    this.#said.textContent = 'Point at a setting to read it, click to pin it.';
    this.#chart.replaceChildren(
      drawMap(points, fronts, {
        pointed: (point) => {
          this.#said.textContent =
            point === null ? 'Point at a setting to read it, click to pin it.' : inWords(point.row);
        },
        picked: (point) => this.#pin(point),
      }),
    );
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
