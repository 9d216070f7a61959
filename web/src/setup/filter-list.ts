// The filters to compare, and the choice of another.

import { find, make } from './element.js';
import { FilterCard } from './filter-card.js';
import { InvalidInput } from './invalid-input.js';
import type { FilterDescription } from './protocol.js';

/** One of each kind to begin with; any other is one click away. */
const INITIAL = ['bloom', 'stable', 'rlbsbf', 'blocked', 'word'];

export class FilterList {
  readonly #list = find('filter-list', HTMLUListElement);
  readonly #choice = find('filter-choice', HTMLSelectElement);
  #registry: FilterDescription[] = [];
  #cards: FilterCard[] = [];

  constructor() {
    find('add-filter', HTMLButtonElement).addEventListener('click', () => this.#addChosen());
    find('add-all', HTMLButtonElement).addEventListener('click', () => this.#addMissing());
  }

  /** Starts with a few, each at its defaults. */
  fill(registry: FilterDescription[]): void {
    this.#registry = registry;
    for (const description of registry) {
      this.#choice.append(make('option', { value: description.name }, description.title));
    }
    const initial = registry.filter(({ name }) => INITIAL.includes(name));
    (initial.length > 0 ? initial : registry).forEach((description) => this.#add(description));
  }

  /** Puts the filters of these text forms in the place of all. */
  restore(specs: string[]): void {
    this.#cards.forEach((card) => card.element.remove());
    this.#cards = [];
    for (const spec of specs) {
      const name = spec.split(':')[0];
      const description = this.#registry.find((description) => description.name === name);
      if (description !== undefined) {
        this.#add(description).restore(spec);
      }
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

  #addMissing(): void {
    const isListed = (name: string) => this.#cards.some((card) => card.name === name);
    this.#registry
      .filter(({ name }) => !isListed(name))
      .forEach((description) => this.#add(description));
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
