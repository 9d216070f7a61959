// The counts of a run, a row a filter.

import { find, make, specText } from './element.js';
import { formatBytes, formatCount, formatNanoseconds, formatShare } from './number-format.js';
import { swatch } from './palette.js';
import type { OutcomeRow } from './protocol.js';

interface Column {
  /** As in the command line's JSON. */
  key: string;
  heading: string;
  value(row: OutcomeRow): number | null;
  format(row: OutcomeRow): string;
}

function count(key: string, heading: string, value: (row: OutcomeRow) => number): Column {
  return { key, heading, value, format: (row) => formatCount(value(row)) };
}

function share(key: string, heading: string, value: (row: OutcomeRow) => number | null): Column {
  return { key, heading, value, format: (row) => formatShare(tidied(value(row))) };
}

/** What rounds to nothing is nothing: a prediction counts no keys. */
function tidied(share: number | null): number | null {
  return share !== null && share < 1e-6 ? 0 : share;
}

const COLUMNS: readonly Column[] = [
  share('fpr', 'FPR', (row) => row.fpr),
  share('predicted_fpr', 'Theory', (row) => row.prediction?.fpr ?? null),
  share('fnr', 'FNR', (row) => row.fnr),
  share('predicted_fnr', 'Theory', (row) => row.prediction?.fnr ?? null),
  share('error', 'Error', (row) => row.error),
  count('fp', 'New dropped', (row) => row.falsePositives),
  count('fn', 'Repeats missed', (row) => row.falseNegatives),
  count('count', 'Lines', (row) => row.count),
  count('distinct', 'Distinct', (row) => row.distinct),
  count('repeats', 'Repeats', (row) => row.repeats),
  {
    key: 'memory_bits',
    heading: 'Memory',
    value: (row) => row.memoryBits,
    format: (row) => formatBytes(row.memoryBits / 8),
  },
  share('load', 'Load', (row) => row.load),
  {
    key: 'ns_per_observation',
    heading: 'Time a line',
    value: (row) => row.nsPerObservation,
    format: (row) => formatNanoseconds(row.nsPerObservation),
  },
];

export class ResultsTable {
  readonly #table = find('outcomes', HTMLTableElement);
  readonly #formulas = find('formulas', HTMLElement);

  constructor() {
    const headings = COLUMNS.map(({ heading }) => make('th', { scope: 'col' }, heading));
    const head = make('tr', {}, make('th', { scope: 'col' }, 'Filter'), ...headings);
    this.#table.tHead?.append(head);
  }

  show(outcomes: OutcomeRow[]): void {
    this.#table.tBodies[0]?.replaceChildren(...outcomes.map(tableRow));
    this.#formulas.replaceChildren(...outcomes.flatMap(formula));
  }
}

function tableRow(row: OutcomeRow, place: number): HTMLTableRowElement {
  const name = make('div', { class: 'filter-name' }, swatch(place), specText(row.filter));
  const heading = make('th', { scope: 'row' }, name);
  const cells = COLUMNS.map((column) => cell(column, row));
  return make('tr', { 'data-filter': row.filter }, heading, ...cells);
}

/** The name of the formula, how far it is to be trusted, and where it is loose. */
function formula({ filter, prediction }: OutcomeRow): HTMLElement[] {
  const text =
    prediction === null
      ? 'There is no formula.'
      : `${prediction.by}. It is ${prediction.trust}. Loose: ${prediction.loose}.`;
  return [make('dt', {}, specText(filter)), make('dd', {}, text)];
}

/** What is shown is rounded; `data-value` holds the number itself. */
function cell({ key, value, format }: Column, row: OutcomeRow): HTMLTableCellElement {
  const attributes = { 'data-column': key, 'data-value': String(value(row) ?? '') };
  return make('td', attributes, format(row));
}
