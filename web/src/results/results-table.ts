// The results of a run, one row per filter.

import { create, find, specText } from '../ui/element.js';
import { formatBytes, formatCount, formatNanoseconds, formatShare } from '../ui/number-format.js';
import { type Series, seriesOf, swatch } from '../ui/palette.js';
import type { Outcome } from '../wasm/dedupstore_wasm.js';

interface Column {
  /** The name in the command line's JSON. */
  key: string;
  heading: string;
  value(outcome: Outcome): number | null;
  format(outcome: Outcome): string;
}

function count(key: string, heading: string, value: (outcome: Outcome) => number): Column {
  return { key, heading, value, format: (outcome) => formatCount(value(outcome)) };
}

function share(key: string, heading: string, value: (outcome: Outcome) => number | null): Column {
  return { key, heading, value, format: (outcome) => formatShare(rounded(value(outcome))) };
}

/** Predictions below a millionth are shown as 0. */
function rounded(share: number | null): number | null {
  return share !== null && share < 1e-6 ? 0 : share;
}

const COLUMNS: readonly Column[] = [
  share('fpr', 'FPR', (outcome) => outcome.fpr),
  share('predicted_fpr', 'Theory', (outcome) => outcome.prediction?.fpr ?? null),
  share('fnr', 'FNR', (outcome) => outcome.fnr),
  share('predicted_fnr', 'Theory', (outcome) => outcome.prediction?.fnr ?? null),
  share('error', 'All errors', (outcome) => outcome.error),
  count('fp', 'New keys skipped', (outcome) => outcome.falsePositives),
  count('fn', 'Repeats let through', (outcome) => outcome.falseNegatives),
  count('count', 'Lines', (outcome) => outcome.count),
  count('distinct', 'Distinct keys', (outcome) => outcome.distinct),
  count('repeats', 'Repeats', (outcome) => outcome.repeats),
  {
    key: 'memory_bits',
    heading: 'Memory',
    value: (outcome) => outcome.memoryBits,
    format: (outcome) => formatBytes(outcome.memoryBits / 8),
  },
  share('load', 'Load', (outcome) => outcome.load),
  {
    key: 'ns_per_observation',
    heading: 'Time per line',
    value: (outcome) => outcome.nsPerObservation,
    format: (outcome) => formatNanoseconds(outcome.nsPerObservation),
  },
];

export class ResultsTable {
  readonly #table = find('outcomes', HTMLTableElement);
  readonly #formulas = find('formulas', HTMLElement);

  constructor() {
    const headings = COLUMNS.map(({ heading }) => create('th', { scope: 'col' }, heading));
    const head = create('tr', {}, create('th', { scope: 'col' }, 'Filter'), ...headings);
    this.#table.tHead?.append(head);
  }

  show(outcomes: Outcome[]): void {
    const series = seriesOf(outcomes.map(({ filter }) => filter));
    const rows = outcomes.flatMap((outcome, index) => {
      const style = series[index];
      return style === undefined ? [] : [tableRow(outcome, style)];
    });
    this.#table.tBodies[0]?.replaceChildren(...rows);
    this.#formulas.replaceChildren(...outcomes.flatMap(formula));
  }
}

function tableRow(outcome: Outcome, series: Series): HTMLTableRowElement {
  const name = create('div', { class: 'filter-name' }, swatch(series), specText(outcome.filter));
  const heading = create('th', { scope: 'row' }, name);
  const cells = COLUMNS.map((column) => cell(column, outcome));
  return create('tr', { 'data-filter': outcome.filter }, heading, ...cells);
}

/** The name of the formula, how exact it is, and where it is loose. */
function formula({ filter, prediction }: Outcome): HTMLElement[] {
  const text =
    prediction === null
      ? 'There is no formula.'
      : `${prediction.by}. It is ${prediction.trust}. Loose: ${prediction.loose}.`;
  return [create('dt', {}, specText(filter)), create('dd', {}, text)];
}

/** The text is rounded; `data-value` holds the exact number. */
function cell({ key, value, format }: Column, outcome: Outcome): HTMLTableCellElement {
  const attributes = { 'data-column': key, 'data-value': String(value(outcome) ?? '') };
  return create('td', attributes, format(outcome));
}
