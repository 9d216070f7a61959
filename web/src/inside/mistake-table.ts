// The wrong verdicts of one kind, the latest first, each with its reason.

import { find, make } from '../element.js';
import { formatCount } from '../number-format.js';
import type { ArrivedKey, MistakeList } from './data.js';
import { KeyButton } from './key-list.js';
import { showItems } from './rows.js';

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
  readonly #pick: (arrived: ArrivedKey) => void;
  readonly #rows: Row[] = [];

  constructor(id: string, name: string, pick: (arrived: ArrivedKey) => void) {
    this.#name = name;
    this.#pick = pick;
    this.#caption = find(`${id}-caption`, HTMLElement);
    this.#body = find(`${id}-rows`, HTMLElement);
  }

  show({ count, latest }: MistakeList, pickedId: string | null): void {
    const part = latest.length < count ? `, the latest ${formatCount(latest.length)} of them here` : '';
    this.#caption.textContent = `${this.#name}: ${formatCount(count)}${part}`;
    showItems(this.#body, this.#rows, latest, () => this.#row(), (row, { arrived, reason }) => {
      row.line.textContent = formatCount(arrived.position);
      row.button.show(arrived, pickedId);
      row.reason.textContent = reason;
    });
  }

  #row(): Row {
    const line = make('th', { scope: 'row' });
    const button = new KeyButton(this.#pick);
    const reason = make('p');
    const what = make('td', { class: 'inside-reason' }, button.element, reason);
    return { element: make('tr', {}, line, what), line, button, reason };
  }
}
