// The section of the calculator, which loads its content when it is opened: a first visit does
// not need it.

import type { QueryClient } from '../engine/queries.js';
import { create, find } from '../ui/element.js';
import type { CalculatorView } from './calculator-view.js';
import { type CalculatorState, FIRST_STATE } from './state.js';
import type { CalculatorHost } from './view.js';

export class CalculatorSection {
  readonly #queries: QueryClient;
  readonly #host: CalculatorHost;
  readonly #section = find('calculator', HTMLElement);
  readonly #details = create('details', { class: 'calculator' });
  #view: CalculatorView | undefined;
  #restored: CalculatorState | null = null;

  constructor(queries: QueryClient, host: CalculatorHost) {
    this.#queries = queries;
    this.#host = host;
    const heading = find('calculator-heading', HTMLElement);
    heading.textContent = 'How much memory do I need?';
    const content = create('div', { id: 'calculator-content' });
    this.#details.append(create('summary', {}, heading), content);
    this.#section.append(this.#details);
    this.#section.hidden = false;
    this.#details.addEventListener('toggle', () => {
      if (this.#details.open) {
        void this.#open();
      }
    });
  }

  /** What was typed; null while the section is closed. */
  get state(): CalculatorState | null {
    return this.#details.open ? (this.#view?.state ?? this.#restored) : null;
  }

  /** Opens the section with this state, as from a link. */
  restore(state: CalculatorState | null): void {
    if (state === null) {
      return;
    }
    this.#restored = state;
    if (this.#view === undefined) {
      this.#details.open = true;
    } else {
      this.#view.restore(state);
    }
  }

  async #open(): Promise<void> {
    const { openCalculator } = await import('./view.js');
    this.#view ??= openCalculator(this.#queries, this.#host, this.#restored ?? FIRST_STATE);
  }
}
