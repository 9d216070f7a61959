// The selected key: the verdict if it came now, and the cells that the filter checks.

import { create, find } from '../ui/element.js';
import { MISSING, formatCount } from '../ui/number-format.js';
import type { CellDetails, ObservedKey } from '../wasm/dedupstore_wasm.js';
import { FEW_CELLS } from './cell-grid.js';
import { keyText } from './key-text.js';
import type { InsideState } from './protocol.js';

export class SelectedKey {
  readonly #section = find('inside-selected', HTMLElement);
  readonly #key = find('inside-selected-key', HTMLElement);
  readonly #verdict = find('inside-selected-verdict', HTMLElement);
  readonly #table = find('inside-selected-table', HTMLTableElement);

  /** Hides the section if the state is not about the selected key. */
  show(state: InsideState, selectedKey: ObservedKey | null): void {
    const { selected } = state;
    this.#section.hidden = selected === null || selected.id !== selectedKey?.id;
    if (selected === null || selectedKey === null || this.#section.hidden) {
      return;
    }
    const { verdict, reason } = selected;
    this.#key.textContent = selectedKey.key === '' ? '(empty)' : selectedKey.key;
    this.#verdict.textContent = `If it came now, the verdict would be ${verdict}: ${reason}.`;
    // Of many cells, the matching ones come first.
    const cells =
      selected.cells.length <= FEW_CELLS
        ? selected.cells
        : selected.cells.toSorted((a, b) => Number(b.matches) - Number(a.matches));
    this.#table.tBodies[0]?.replaceChildren(...cells.map((cell) => row(cell, state)));
  }
}

function row(cell: CellDetails, { cells, position }: InsideState): HTMLElement {
  const age = cell.changedAt === 0 ? MISSING : formatCount(position - cell.changedAt);
  const writtenBy = create('td', { class: 'inside-written-by' });
  if (cell.writtenBy === null) {
    writtenBy.textContent = MISSING;
  } else {
    const spoken = create('span', { class: 'spoken' }, cell.writtenBy);
    writtenBy.append(spoken, keyText(cell.writtenBy));
    writtenBy.title = cell.writtenBy;
  }
  return create(
    'tr',
    { 'data-cell': String(cell.index), 'data-matches': String(cell.matches) },
    create('th', { scope: 'row' }, `${cells.name} ${formatCount(cell.index)}`),
    create('td', {}, cell.value),
    create('td', {}, cell.matches ? 'yes' : 'no'),
    create('td', {}, age),
    writtenBy,
  );
}
