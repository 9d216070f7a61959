// The two charts of a run, and the same in words and as a table.

import { type ChartLine, RateChart } from './chart.js';
import { find, make, specText } from './element.js';
import { formatCount, formatShare } from './number-format.js';
import type { Snapshot } from './protocol.js';

/** A voice that is interrupted ten times a second says nothing. */
const SPOKEN_MILLISECONDS = 5000;

export class CurvesView {
  readonly #fpr = new RateChart(find('fpr-chart', HTMLElement), 'share of new keys dropped');
  readonly #fnr = new RateChart(find('fnr-chart', HTMLElement), 'share of repeats missed');
  readonly #spoken = find('curves-spoken', HTMLElement);
  readonly #twin = find('curves-table', HTMLTableElement);
  #spokenAt = 0;

  /** Begins a run: the next words may be spoken at once. */
  begin(): void {
    this.#spoken.textContent = '';
    this.#spokenAt = performance.now();
  }

  show(snapshot: Snapshot, isLast: boolean): void {
    this.#fpr.show(snapshot.curves.position, lines(snapshot, 'fpr'));
    this.#fnr.show(snapshot.curves.position, lines(snapshot, 'fnr'));
    this.#writeTwin(snapshot);
    if (isLast || performance.now() - this.#spokenAt > SPOKEN_MILLISECONDS) {
      this.#spoken.textContent = inWords(snapshot);
      this.#spokenAt = performance.now();
    }
  }

  clear(): void {
    this.#fpr.clear();
    this.#fnr.clear();
    this.#spoken.textContent = '';
  }

  #writeTwin({ outcomes, curves }: Snapshot): void {
    const filters = make('tr', {}, make('th', { scope: 'col', rowspan: '2' }, 'Line'));
    const rates = make('tr');
    for (const { filter } of outcomes) {
      filters.append(make('th', { scope: 'colgroup', colspan: '2' }, specText(filter)));
      rates.append(make('th', { scope: 'col' }, 'FPR'), make('th', { scope: 'col' }, 'FNR'));
    }
    const rows = curves.position.map((position, index) => {
      const end = formatCount(position);
      const row = make('tr', {}, make('th', { scope: 'row' }, end));
      for (const { fpr, fnr } of curves.filters) {
        row.append(make('td', {}, formatShare(fpr[index] ?? null)));
        row.append(make('td', {}, formatShare(fnr[index] ?? null)));
      }
      return row;
    });
    this.#twin.tHead?.replaceChildren(filters, rates);
    this.#twin.tBodies[0]?.replaceChildren(...rows);
  }
}

function lines({ outcomes, curves }: Snapshot, rate: 'fpr' | 'fnr'): ChartLine[] {
  return outcomes.map((outcome, place) => ({
    filter: outcome.filter,
    overall: outcome[rate],
    rates: curves.filters[place]?.[rate] ?? [],
  }));
}

function inWords({ outcomes }: Snapshot): string {
  const end = formatCount(outcomes[0]?.count ?? 0);
  const each = outcomes.map(
    ({ filter, fpr, fnr }) =>
      `${filter} drops ${formatShare(fpr)} of new keys and misses ${formatShare(fnr)} of repeats.`,
  );
  return `After ${end} lines: ${each.join(' ')}`;
}
