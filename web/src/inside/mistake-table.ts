// The wrong verdicts of one kind, newest first, with reasons.

import { create, find } from '../ui/element.js';
import { formatCount } from '../ui/number-format.js';
import type { MistakeList, ObservedKey } from '../wasm/dedupstore_wasm.js';
import { KeyButton } from './key-list.js';
import { updateRows } from './reused-rows.js';

interface Row {
  element: HTMLTableRowElement;
  line: HTMLElement;
  button: KeyButton;
  reason: HTMLElement;
}

export class MistakeTable {
  readonly #name: string;
  readonly #caption: HTMLElement;
  readonly #body: HTMLElement;
  readonly #select: (observed: ObservedKey) => void;
  readonly #rows: Row[] = [];

  constructor(id: string, name: string, select: (observed: ObservedKey) => void) {
    this.#name = name;
    this.#select = select;
    this.#caption = find(`${id}-caption`, HTMLElement);
    this.#body = find(`${id}-rows`, HTMLElement);
  }

  show({ count, latest }: MistakeList, selectedId: string | null): void {
    const shown = latest.length < count ? ` (the latest ${formatCount(latest.length)} are shown)` : '';
    this.#caption.textContent = `${this.#name}: ${formatCount(count)}${shown}`;
    updateRows(this.#body, this.#rows, latest, () => this.#createRow(), (row, mistake) => {
      const { observed, reason } = mistake;
      row.line.textContent = formatCount(observed.position);
      row.button.show(observed, selectedId);
      row.reason.textContent = reason;
    });
  }

  #createRow(): Row {
    const line = create('th', { scope: 'row' });
    const button = new KeyButton(this.#select);
    const reason = create('p');
    const cell = create('td', { class: 'inside-reason' }, button.element, reason);
    return { element: create('tr', {}, line, cell), line, button, reason };
  }
}
