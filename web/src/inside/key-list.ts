// The latest keys, each a button that chooses it.

import { find, make } from '../element.js';
import { formatCount } from '../number-format.js';
import type { ArrivedKey } from './data.js';
import { keyText } from './key-text.js';
import { showItems } from './rows.js';

/** A button that chooses a key. */
export class KeyButton {
  readonly element = make('button', { type: 'button', class: 'quiet inside-key' });
  #arrived: ArrivedKey | undefined;

  constructor(pick: (arrived: ArrivedKey) => void) {
    this.element.addEventListener('click', () => {
      if (this.#arrived !== undefined) {
        pick(this.#arrived);
      }
    });
  }

  show(arrived: ArrivedKey, pickedId: string | null): void {
    this.#arrived = arrived;
    this.element.setAttribute('aria-pressed', String(arrived.id === pickedId));
    if (this.element.title !== arrived.key || this.element.firstChild === null) {
      this.element.replaceChildren(keyText(arrived.key));
      this.element.title = arrived.key;
      this.element.ariaLabel = arrived.key === '' ? '(empty)' : arrived.key;
    }
  }
}

interface Item {
  element: HTMLLIElement;
  button: KeyButton;
  said: HTMLElement;
}

export class KeyList {
  readonly #list = find('inside-recent', HTMLElement);
  readonly #pick: (arrived: ArrivedKey) => void;
  readonly #items: Item[] = [];

  constructor(pick: (arrived: ArrivedKey) => void) {
    this.#pick = pick;
  }

  show(recent: ArrivedKey[], pickedId: string | null): void {
    showItems(this.#list, this.#items, recent, () => this.#item(), (item, arrived) => {
      item.button.show(arrived, pickedId);
      item.said.textContent = arrived.isRight ? arrived.verdict : `${arrived.verdict}, wrongly`;
      item.said.classList.toggle('wrong', !arrived.isRight);
      item.element.title = `Line ${formatCount(arrived.position)}`;
    });
  }

  #item(): Item {
    const button = new KeyButton(this.#pick);
    const said = make('span', { class: 'inside-verdict' });
    return { element: make('li', {}, button.element, said), button, said };
  }
}
