// The cells as a table, for users who do not see the picture. Filled only while it is open.

import { create, find } from '../ui/element.js';
import { formatCount } from '../ui/number-format.js';
import { isBit, shortValue } from './grid-layout.js';
import type { InsideState } from './protocol.js';

const MAX_CELLS_PER_ROW = 64;

export class CellTable {
  readonly #details = find('inside-details', HTMLDetailsElement);
  readonly #table = find('inside-table', HTMLTableElement);
  #state: InsideState | undefined;

  constructor() {
    this.#details.addEventListener('toggle', () => this.#fill());
  }

  show(state: InsideState): void {
    this.#state = state;
    this.#fill();
  }

  #fill(): void {
    const state = this.#state;
    if (state !== undefined && this.#details.open) {
      this.#table.tBodies[0]?.replaceChildren(...rows(state));
    }
  }
}

function rows({ cells, values }: InsideState): HTMLTableRowElement[] {
  const rows: HTMLTableRowElement[] = [];
  const separator = isBit(cells) ? '' : ' ';
  for (let first = 0; first < values.length; first += cells.rowCells) {
    for (let start = 0; start < cells.rowCells; start += MAX_CELLS_PER_ROW) {
      const end = Math.min(start + MAX_CELLS_PER_ROW, cells.rowCells);
      const part = [...values.subarray(first + start, first + end)];
      const inUse = part.filter((value) => value !== 0n).length;
      const text = part.map((value) => shortValue(value, cells)).join(separator);
      const range = `${formatCount(first + start)} to ${formatCount(first + end - 1)}`;
      rows.push(
        create(
          'tr',
          {},
          create('th', { scope: 'row' }, range),
          create('td', {}, `${inUse} of ${part.length}`),
          create('td', {}, create('code', {}, text)),
        ),
      );
    }
  }
  return rows;
}
