// The charts of a run, and the same in words and as a table.

import { type ChartData, RateChart } from './chart.js';
import { saveCanvas, saveText } from './download.js';
import { find, make, specText } from './element.js';
import { formatCount, formatShare } from './number-format.js';
import { partName } from './part-input.js';
import type { Measure, Snapshot } from './protocol.js';
import { chartSvg } from './svg-chart.js';

/** A voice that is interrupted ten times a second says nothing. */
const SPOKEN_MILLISECONDS = 5000;

const CHARTS: readonly { measure: Measure; name: string; short: string }[] = [
  { measure: 'fpr', name: 'share of new keys dropped', short: 'FPR' },
  { measure: 'fnr', name: 'share of repeats missed', short: 'FNR' },
  { measure: 'error', name: 'share of all lines judged wrongly', short: 'Error' },
  { measure: 'load', name: 'share of cells in use', short: 'Load' },
];

export class CurvesView {
  readonly #charts = CHARTS.map(({ measure, name }) => ({
    measure,
    chart: new RateChart(find(`${measure}-chart`, HTMLElement), name),
  }));
  readonly #spoken = find('curves-spoken', HTMLElement);
  readonly #twin = find('curves-table', HTMLTableElement);
  readonly #theory = find('show-theory', HTMLInputElement);
  #spokenAt = 0;

  constructor() {
    this.#theory.addEventListener('change', () => {
      this.#charts.forEach(({ chart }) => chart.showTheory(this.#theory.checked));
    });
    for (const { measure, chart } of this.#charts) {
      find(`${measure}-svg`, HTMLButtonElement).addEventListener('click', () => {
        saveText(`${measure}.svg`, 'image/svg+xml', chartSvg(chart.name, chart.data));
      });
      find(`${measure}-png`, HTMLButtonElement).addEventListener('click', () => {
        saveCanvas(`${measure}.png`, chart.canvas);
      });
    }
  }

  /** Begins a run: the next words may be spoken at once. */
  begin(): void {
    this.#spoken.textContent = '';
    this.#spokenAt = performance.now();
  }

  show(snapshot: Snapshot, isLast: boolean): void {
    for (const { measure, chart } of this.#charts) {
      chart.show(dataOf(snapshot, measure));
    }
    // Hundreds of cells, which few look at while they change; at the end they come behind
    // what everybody looks at.
    if (this.#twin.closest('details')?.open === true) {
      this.#writeTwin(snapshot);
    } else if (isLast) {
      setTimeout(() => this.#writeTwin(snapshot));
    }
    if (isLast || performance.now() - this.#spokenAt > SPOKEN_MILLISECONDS) {
      this.#spoken.textContent = inWords(snapshot);
      this.#spokenAt = performance.now();
    }
  }

  clear(): void {
    this.#charts.forEach(({ chart }) => chart.clear());
    this.#spoken.textContent = '';
  }

  #writeTwin({ outcomes, curves }: Snapshot): void {
    const filters = make('tr', {}, make('th', { scope: 'col', rowspan: '2' }, 'Line'));
    const rates = make('tr');
    const columns = String(CHARTS.length);
    for (const { filter } of outcomes) {
      filters.append(make('th', { scope: 'colgroup', colspan: columns }, specText(filter)));
      rates.append(...CHARTS.map(({ short }) => make('th', { scope: 'col' }, short)));
    }
    const rows = curves.position.map((position, index) => {
      const row = make('tr', {}, make('th', { scope: 'row' }, formatCount(position)));
      for (const { measured } of curves.filters) {
        const shares = CHARTS.map(({ measure }) => measured[measure][index] ?? null);
        row.append(...shares.map((share) => make('td', {}, formatShare(share))));
      }
      return row;
    });
    this.#twin.tHead?.replaceChildren(filters, rates);
    this.#twin.tBodies[0]?.replaceChildren(...rows);
  }
}

function dataOf({ outcomes, curves, part }: Snapshot, measure: Measure): ChartData {
  return {
    position: curves.position,
    lines: outcomes.map((outcome, place) => ({
      filter: outcome.filter,
      overall: outcome[measure],
      rates: curves.filters[place]?.measured[measure] ?? [],
      predicted: curves.filters[place]?.predicted[measure] ?? [],
    })),
    bound: measure === 'fpr' ? curves.bound : null,
    sample: partName(part),
  };
}

function inWords({ outcomes }: Snapshot): string {
  const end = formatCount(outcomes[0]?.count ?? 0);
  const each = outcomes.map(
    ({ filter, fpr, fnr }) =>
      `${filter} drops ${formatShare(fpr)} of new keys and misses ${formatShare(fnr)} of repeats.`,
  );
  return `After ${end} lines: ${each.join(' ')}`;
}
