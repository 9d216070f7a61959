// What errors can be borne, and which are worse.

import { make, uniqueId } from './element.js';
import { InvalidInput } from './invalid-input.js';
import type { Preference, Wish } from './protocol.js';

const PREFERENCES: readonly [Preference, string][] = [
  ['balanced', 'Neither: costs decide'],
  ['no-drops', 'Dropping a new key'],
  ['no-repeats', 'Letting a repeat pass'],
];

/** What is wished for, but for the memory. */
export type Bearable = Omit<Wish, 'memoryBits'>;

export class WishInput {
  readonly element: HTMLElement;
  readonly #maxFpr = percentage('advice-max-fpr');
  readonly #maxFnr = percentage('advice-max-fnr');
  readonly #costFp = cost('advice-cost-fp');
  readonly #costFn = cost('advice-cost-fn');
  readonly #prefer = make(
    'select',
    { id: 'advice-prefer' },
    ...PREFERENCES.map(([value, text]) => make('option', { value }, text)),
  );

  constructor() {
    const unit = () => make('span', { class: 'unit' }, '%');
    this.element = make(
      'div',
      { class: 'wish' },
      row('Which is worse?', this.#prefer),
      row('New keys dropped, at most', this.#maxFpr, unit()),
      row('Repeats let through, at most', this.#maxFnr, unit()),
      row('A dropped new key costs', this.#costFp),
      row('A repeat let through costs', this.#costFn),
    );
  }

  wish(): Bearable {
    return {
      maxFpr: shareOf(this.#maxFpr, 'new keys dropped'),
      maxFnr: shareOf(this.#maxFnr, 'repeats let through'),
      costFp: costOf(this.#costFp),
      costFn: costOf(this.#costFn),
      prefer: this.#preference(),
    };
  }

  restore(wish: Bearable): void {
    const percent = (share: number | null) => (share === null ? '' : String(share * 100));
    this.#maxFpr.value = percent(wish.maxFpr);
    this.#maxFnr.value = percent(wish.maxFnr);
    this.#costFp.value = String(wish.costFp);
    this.#costFn.value = String(wish.costFn);
    this.#prefer.value = wish.prefer;
  }

  #preference(): Preference {
    const chosen = PREFERENCES.find(([value]) => value === this.#prefer.value);
    return chosen?.[0] ?? 'balanced';
  }
}

function percentage(id: string): HTMLInputElement {
  return make('input', {
    id,
    type: 'number',
    min: '0',
    max: '100',
    step: 'any',
    placeholder: 'any',
    inputmode: 'decimal',
  });
}

function cost(id: string): HTMLInputElement {
  return make('input', { id, type: 'number', min: '0', step: 'any', value: '1', inputmode: 'decimal' });
}

function row(text: string, input: HTMLElement, ...behind: HTMLElement[]): HTMLElement {
  input.id ||= uniqueId();
  return make('div', { class: 'wish-row' }, make('label', { for: input.id }, text), input, ...behind);
}

function shareOf(input: HTMLInputElement, what: string): number | null {
  if (input.value === '' && input.validity.valid) {
    return null;
  }
  const percent = input.valueAsNumber;
  if (!(percent >= 0 && percent <= 100)) {
    throw new InvalidInput(`The most of ${what} must be from 0 to 100 %, or empty for any.`);
  }
  return percent / 100;
}

function costOf(input: HTMLInputElement): number {
  const cost = input.valueAsNumber;
  if (!(cost >= 0 && Number.isFinite(cost))) {
    throw new InvalidInput('A cost must be a number from 0.');
  }
  return cost;
}
