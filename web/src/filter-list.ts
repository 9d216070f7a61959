// The filters to compare, and the choice of another.

import { find, make } from './element.js';
import { FilterCard } from './filter-card.js';
import { InvalidInput } from './invalid-input.js';
import type { FilterDescription } from './protocol.js';

export class FilterList {
  readonly #list = find('filter-list', HTMLUListElement);
  readonly #choice = find('filter-choice', HTMLSelectElement);
  #registry: FilterDescription[] = [];
  #cards: FilterCard[] = [];

  constructor() {
    find('add-filter', HTMLButtonElement).addEventListener('click', () => this.#addChosen());
  }

  /** Starts with every filter there is, each at its defaults. */
  fill(registry: FilterDescription[]): void {
    this.#registry = registry;
    for (const description of registry) {
      this.#choice.append(make('option', { value: description.name }, description.title));
      this.#add(description);
    }
  }

  /** The filters in their text form. */
  specs(): string[] {
    if (this.#cards.length === 0) {
      throw new InvalidInput('There is no filter to run: add one.');
    }
    return this.#cards.map((card) => card.spec());
  }

  #addChosen(): void {
    const chosen = this.#registry.find(({ name }) => name === this.#choice.value);
    if (chosen !== undefined) {
      this.#add(chosen).open();
    }
  }

  #add(description: FilterDescription): FilterCard {
    const card = new FilterCard(description, (card) => this.#remove(card));
    this.#cards.push(card);
    this.#list.append(card.element);
    card.showPlace(this.#cards.length - 1);
    return card;
  }

  #remove(card: FilterCard): void {
    const place = this.#cards.indexOf(card);
    this.#cards.splice(place, 1);
    card.element.remove();
    this.#cards.forEach((other, place) => other.showPlace(place));
    // The keyboard's place went with the button: the next one, or the choice of another.
    const next = this.#cards[place] ?? this.#cards[place - 1];
    (next?.removeButton ?? this.#choice).focus();
  }
}
