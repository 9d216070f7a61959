// The latest keys. Each is a button that selects the key.

import { create, find } from '../ui/element.js';
import { formatCount } from '../ui/number-format.js';
import type { ObservedKey } from '../wasm/dedupstore_wasm.js';
import { keyText } from './key-text.js';
import { updateRows } from './reused-rows.js';

/** A button that selects a key. */
export class KeyButton {
  readonly element = create('button', { type: 'button', class: 'quiet inside-key' });
  #observed: ObservedKey | undefined;
  /** The key that was shown when the pointer was pressed. */
  #pressed: ObservedKey | undefined;

  constructor(select: (observed: ObservedKey) => void) {
    this.element.addEventListener('pointerdown', () => {
      this.#pressed = this.#observed;
    });
    this.element.addEventListener('click', ({ detail }) => {
      // The list may move during a click: the key under the pressed pointer is meant. A click
      // by the keyboard has no detail.
      const meant = detail > 0 ? this.#pressed : this.#observed;
      if (meant !== undefined) {
        select(meant);
      }
    });
  }

  show(observed: ObservedKey, selectedId: string | null): void {
    this.#observed = observed;
    this.element.setAttribute('aria-pressed', String(observed.id === selectedId));
    if (this.element.title !== observed.key || this.element.firstChild === null) {
      this.element.replaceChildren(keyText(observed.key));
      this.element.title = observed.key;
      this.element.ariaLabel = observed.key === '' ? '(empty)' : observed.key;
    }
  }
}

interface Item {
  element: HTMLLIElement;
  button: KeyButton;
  verdict: HTMLElement;
}

export class KeyList {
  readonly #list = find('inside-recent', HTMLElement);
  readonly #select: (observed: ObservedKey) => void;
  readonly #items: Item[] = [];

  constructor(select: (observed: ObservedKey) => void) {
    this.#select = select;
  }

  show(recent: ObservedKey[], selectedId: string | null): void {
    updateRows(this.#list, this.#items, recent, () => this.#createItem(), (item, observed) => {
      const { verdict, isCorrect, position } = observed;
      item.button.show(observed, selectedId);
      item.verdict.textContent = isCorrect ? verdict : `${verdict}, wrong`;
      item.verdict.classList.toggle('wrong', !isCorrect);
      item.element.title = `Line ${formatCount(position)}`;
    });
  }

  #createItem(): Item {
    const button = new KeyButton(this.#select);
    const verdict = create('span', { class: 'inside-verdict' });
    return { element: create('li', {}, button.element, verdict), button, verdict };
  }
}
