// The key that was chosen: what the filter would say of it now, and why, cell by cell.

import { find, make } from '../element.js';
import { keyText } from './key-text.js';
import { formatCount, NOTHING } from '../number-format.js';
import { FEW_CELLS } from './grid.js';
import type { ArrivedKey, CellLook, InsideState } from './data.js';

export class PickedKey {
  readonly #section = find('inside-picked', HTMLElement);
  readonly #key = find('inside-picked-key', HTMLElement);
  readonly #said = find('inside-picked-said', HTMLElement);
  readonly #table = find('inside-picked-table', HTMLTableElement);

  /** Shows the look of a state, if it has one at the key that was chosen. */
  show(state: InsideState, picked: ArrivedKey | null): void {
    const { look } = state;
    this.#section.hidden = look === null || look.id !== picked?.id;
    if (look === null || picked === null || this.#section.hidden) {
      return;
    }
    this.#key.textContent = picked.key === '' ? '(empty)' : picked.key;
    this.#said.textContent = `Were it to come now, it would be called ${look.verdict}: ${look.because}.`;
    // Of many, those that speak for the key come first.
    const cells =
      look.cells.length <= FEW_CELLS
        ? look.cells
        : look.cells.toSorted((a, b) => Number(b.isMet) - Number(a.isMet));
    this.#table.tBodies[0]?.replaceChildren(...cells.map((cell) => row(cell, state)));
  }
}

function row(cell: CellLook, { anatomy, position }: InsideState): HTMLElement {
  const since = cell.changedAt === 0 ? NOTHING : formatCount(position - cell.changedAt);
  const left = make('td', { class: 'inside-left' });
  if (cell.left === null) {
    left.textContent = NOTHING;
  } else {
    left.append(make('span', { class: 'spoken' }, cell.left.key), keyText(cell.left.key));
    left.title = cell.left.key;
  }
  return make(
    'tr',
    { 'data-cell': String(cell.index), 'data-met': String(cell.isMet) },
    make('th', { scope: 'row' }, `${anatomy.cell} ${formatCount(cell.index)}`),
    make('td', {}, cell.value),
    make('td', {}, cell.isMet ? 'for it' : 'against'),
    make('td', {}, since),
    left,
  );
}

export function ago(lines: number): string {
  switch (lines) {
    case 0:
      return 'just now';
    case 1:
      return '1 line ago';
    default:
      return `${formatCount(lines)} lines ago`;
  }
}
