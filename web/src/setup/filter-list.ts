// The filters to compare.

import { FIRST_FILTERS } from '../engine/settings.js';
import { create, find } from '../ui/element.js';
import { InvalidInput } from '../ui/invalid-input.js';
import type { FilterDescription } from '../wasm/dedupstore_wasm.js';
import { seriesOf } from '../ui/palette.js';
import { FilterCard } from './filter-card.js';

export interface FilterListHost {
  /** Called if filters may be wanted that are not available yet. Resolves after `offer`. */
  needMore(): Promise<void>;
  /** Called if the complete engine has no filter of a name either. */
  unknown(specs: string[]): void;
  /** Called if a filter was added or removed. */
  changed(): void;
}

export class FilterList {
  readonly #list = find('filter-list', HTMLUListElement);
  readonly #choice = find('filter-choice', HTMLSelectElement);
  #descriptions: FilterDescription[] = [];
  #cards: FilterCard[] = [];
  /** Text forms of filters that are not available yet, and of those behind them. */
  #unknown: string[] = [];
  /** Whether all filters are wanted when they are available. */
  #wantsAll = false;
  readonly #host: FilterListHost;

  constructor(host: FilterListHost) {
    this.#host = host;
    find('add-filter', HTMLButtonElement).addEventListener('click', () => this.#addChosen());
    find('add-all', HTMLButtonElement).addEventListener('click', () => {
      this.#wantsAll = true;
      this.#addAll();
    });
    // A first visit needs only a few filters. The others are offered when the pointer, a finger or
    // the keyboard comes near.
    const section = this.#list.closest('section');
    for (const event of ['pointerenter', 'focusin']) {
      section?.addEventListener(event, () => void host.needMore(), { once: true });
    }
  }

  /** Sets the available filters, and adds those that were wanted before. */
  offer(descriptions: FilterDescription[]): void {
    this.#descriptions = descriptions;
    this.#addAll();
    const chosen = this.#choice.value;
    this.#choice.replaceChildren(
      ...descriptions.map(({ name, title }) => create('option', { value: name }, title)),
    );
    this.#choice.value = chosen === '' ? (descriptions[0]?.name ?? '') : chosen;
    const isKnown = this.#unknown.map((spec) => this.#addSpec(spec));
    const unknown = this.#unknown.filter((_, index) => isKnown[index] !== true);
    this.#unknown = [];
    if (unknown.length > 0) {
      this.#host.unknown(unknown);
    }
  }

  /** Sets the available filters and adds a few of them. */
  fill(descriptions: FilterDescription[]): void {
    this.offer(descriptions);
    const initial = descriptions.filter(({ name }) => FIRST_FILTERS.includes(name));
    (initial.length > 0 ? initial : descriptions).forEach((description) => this.#add(description));
  }

  /** Replaces all filters by these text forms. Resolves when they are there. */
  async restore(specs: string[]): Promise<void> {
    this.#cards.forEach((card) => card.element.remove());
    this.#cards = [];
    // Those behind one that is not available yet wait for it, so that their order is kept.
    let waits = false;
    this.#unknown = specs.filter((spec) => (waits = waits || !this.#addSpec(spec)));
    if (this.#unknown.length > 0) {
      await this.#host.needMore();
    }
  }

  /** Adds a filter in its text form, unless it is there. Resolves when it is. */
  async ensure(spec: string): Promise<void> {
    const isThere = this.#cards.some((card) => card.spec() === spec);
    if (!isThere && !this.#addSpec(spec)) {
      this.#unknown.push(spec);
      await this.#host.needMore();
    }
  }

  /** The text forms of the filters. */
  specs(): string[] {
    if (this.#cards.length === 0) {
      throw new InvalidInput('There is no filter to run: add one.');
    }
    return this.#cards.map((card) => card.spec());
  }

  #addChosen(): void {
    const chosen = this.#descriptions.find(({ name }) => name === this.#choice.value);
    if (chosen !== undefined) {
      this.#add(chosen).open();
    }
  }

  /** Returns false if the filter is not available. */
  #addSpec(spec: string): boolean {
    const name = spec.split(':')[0];
    const description = this.#descriptions.find((description) => description.name === name);
    if (description !== undefined) {
      this.#add(description).restore(spec);
    }
    return description !== undefined;
  }

  /** Adds all filters if that is wanted and they are known. */
  #addAll(): void {
    if (!this.#wantsAll) {
      return;
    }
    if (this.#descriptions.length <= FIRST_FILTERS.length) {
      void this.#host.needMore();
      return;
    }
    this.#wantsAll = false;
    const isListed = (name: string) => this.#cards.some((card) => card.name === name);
    this.#descriptions
      .filter(({ name }) => !isListed(name))
      .forEach((description) => this.#add(description));
  }

  #add(description: FilterDescription): FilterCard {
    const card = new FilterCard(description, (card) => this.#remove(card));
    this.#cards.push(card);
    this.#list.append(card.element);
    this.#listChanged();
    return card;
  }

  #remove(card: FilterCard): void {
    const index = this.#cards.indexOf(card);
    this.#cards.splice(index, 1);
    card.element.remove();
    this.#listChanged();
    // The focused button is gone: focus the next one, or the choice of a filter.
    const next = this.#cards[index] ?? this.#cards[index - 1];
    (next?.removeButton ?? this.#choice).focus();
  }

  #listChanged(): void {
    const series = seriesOf(this.#cards.map((card) => card.spec()));
    this.#cards.forEach((card, index) => card.setSeries(series[index]));
    this.#host.changed();
  }
}
