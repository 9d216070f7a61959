// The charts of a run, and the same curves in words and as a table.

import type { Snapshot } from '../engine/run-protocol.js';
import { partName } from '../setup/log-part-input.js';
import { create, find, specText } from '../ui/element.js';
import { formatCount, formatCounted, formatShare } from '../ui/number-format.js';
import { saveCanvas, saveText } from '../ui/save-file.js';
import type { Measures } from '../wasm/dedupstore_wasm.js';
import { chartSvg } from './chart-svg.js';
import { type ChartData, RateChart } from './rate-chart.js';

/** A screen reader needs time to read one description before the next. */
const SPOKEN_MILLISECONDS = 5000;

const CHARTS: readonly { measure: keyof Measures; name: string; short: string }[] = [
  { measure: 'fpr', name: 'share of new keys dropped', short: 'FPR' },
  { measure: 'fnr', name: 'share of repeats missed', short: 'FNR' },
  { measure: 'error', name: 'share of lines with a wrong verdict', short: 'Errors' },
  { measure: 'load', name: 'share of cells in use', short: 'Load' },
];

export class CurvesView {
  readonly #charts = CHARTS.map(({ measure, name }) => ({
    measure,
    chart: new RateChart(find(`${measure}-chart`, HTMLElement), name),
  }));
  readonly #spoken = find('curves-spoken', HTMLElement);
  readonly #table = find('curves-table', HTMLTableElement);
  readonly #showTheory = find('show-theory', HTMLInputElement);
  #spokenAt = 0;

  constructor() {
    this.#showTheory.addEventListener('change', () => {
      this.#charts.forEach(({ chart }) => chart.showTheory(this.#showTheory.checked));
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

  /** Prepares for a new run. */
  begin(): void {
    this.#spoken.textContent = '';
    this.#spokenAt = performance.now();
  }

  show(snapshot: Snapshot, isLast: boolean): void {
    for (const { measure, chart } of this.#charts) {
      chart.show(chartData(snapshot, measure));
    }
    // The table has hundreds of cells: it is filled if it is open, and at the end after
    // everything else.
    if (this.#table.closest('details')?.open === true) {
      this.#fillTable(snapshot);
    } else if (isLast) {
      setTimeout(() => this.#fillTable(snapshot));
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

  #fillTable({ outcomes, curves }: Snapshot): void {
    const filters = create('tr', {}, create('th', { scope: 'col', rowspan: '2' }, 'Line'));
    const measures = create('tr');
    const columns = String(CHARTS.length);
    for (const { filter } of outcomes) {
      filters.append(create('th', { scope: 'colgroup', colspan: columns }, specText(filter)));
      measures.append(...CHARTS.map(({ short }) => create('th', { scope: 'col' }, short)));
    }
    const rows = Array.from(curves.position, (position, index) => {
      const row = create('tr', {}, create('th', { scope: 'row' }, formatCount(position)));
      for (const { measured } of curves.filters) {
        const shares = CHARTS.map(({ measure }) => measured[measure][index] ?? null);
        row.append(...shares.map((share) => create('td', {}, formatShare(share))));
      }
      return row;
    });
    this.#table.tHead?.replaceChildren(filters, measures);
    this.#table.tBodies[0]?.replaceChildren(...rows);
  }
}

function chartData({ outcomes, curves, part }: Snapshot, measure: keyof Measures): ChartData {
  const none = new Float64Array();
  const { position } = curves;
  const sample = partName(part);
  return {
    axis: {
      label: sample === '' ? 'line of the log' : `line of the sample: ${sample}`,
      against: `position in the log, up to line ${formatCount(position.at(-1) ?? 0)}`,
      cursor: 'position',
      hasPoints: false,
      range: (index) =>
        `Lines ${formatCount((position[index - 1] ?? 0) + 1)} to ${formatCount(position[index] ?? 0)}`,
    },
    position,
    lines: outcomes.map((outcome, index) => ({
      filter: outcome.filter,
      overall: outcome[measure],
      rates: curves.filters[index]?.measured[measure] ?? none,
      predicted: curves.filters[index]?.predicted[measure] ?? none,
    })),
    bound: measure === 'fpr' ? curves.bound : null,
    sample,
  };
}

function inWords({ outcomes }: Snapshot): string {
  const end = formatCounted(outcomes[0]?.count ?? 0, 'line');
  const each = outcomes.map(
    ({ filter, fpr, fnr }) =>
      `${filter} drops ${formatShare(fpr)} of new keys and misses ${formatShare(fnr)} of repeats.`,
  );
  return `After ${end}: ${each.join(' ')}`;
}
