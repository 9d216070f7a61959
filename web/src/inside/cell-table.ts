// The cells as a table, for those who do not see the picture. Filled only while it is open.

import { find, make } from '../element.js';
import { formatCount } from '../number-format.js';
import type { InsideState } from './data.js';
import { isBit, shortValue } from './layout.js';

const MOST_CELLS_A_ROW = 64;

export class CellTable {
  readonly #twin = find('inside-twin', HTMLDetailsElement);
  readonly #table = find('inside-twin-table', HTMLTableElement);
  #state: InsideState | undefined;

  constructor() {
    this.#twin.addEventListener('toggle', () => this.#fill());
  }

  show(state: InsideState): void {
    this.#state = state;
    this.#fill();
  }

  #fill(): void {
    const state = this.#state;
    if (state !== undefined && this.#twin.open) {
      this.#table.tBodies[0]?.replaceChildren(...rows(state));
    }
  }
}

function rows({ anatomy, values }: InsideState): HTMLTableRowElement[] {
  const all: HTMLTableRowElement[] = [];
  const separator = isBit(anatomy) ? '' : ' ';
  for (let first = 0; first < values.length; first += anatomy.rowCells) {
    for (let start = 0; start < anatomy.rowCells; start += MOST_CELLS_A_ROW) {
      const end = Math.min(start + MOST_CELLS_A_ROW, anatomy.rowCells);
      const cells = [...values.subarray(first + start, first + end)];
      const inUse = cells.filter((value) => value !== 0n).length;
      const text = cells.map((value) => shortValue(value, anatomy)).join(separator);
      all.push(
        make(
          'tr',
          {},
          make('th', { scope: 'row' }, `${formatCount(first + start)} to ${formatCount(first + end - 1)}`),
          make('td', {}, `${inUse} of ${cells.length}`),
          make('td', {}, make('code', {}, text)),
        ),
      );
    }
  }
  return all;
}
