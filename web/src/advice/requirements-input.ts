// The errors that are acceptable, and their costs.

import { create, uniqueId } from '../ui/element.js';
import { InvalidInput } from '../ui/invalid-input.js';
import type { AdviceRequirements, Preference } from '../wasm/dedupstore_wasm.js';

const PREFERENCES: readonly [Preference, string][] = [
  ['balanced', 'Both matter equally'],
  ['no-drops', 'Skipping a new key'],
  ['no-repeats', 'Letting a repeat through'],
];

/** All requirements except the memory. */
export type ErrorRequirements = Omit<AdviceRequirements, 'memoryBits'>;

export class RequirementsInput {
  readonly element: HTMLElement;
  readonly #maxFpr = percentInput('advice-max-fpr');
  readonly #maxFnr = percentInput('advice-max-fnr');
  readonly #costFp = costInput('advice-cost-fp');
  readonly #costFn = costInput('advice-cost-fn');
  readonly #prefer = create(
    'select',
    { id: 'advice-prefer' },
    ...PREFERENCES.map(([value, text]) => create('option', { value }, text)),
  );

  constructor() {
    const unit = () => create('span', { class: 'unit' }, '%');
    this.element = create(
      'div',
      { class: 'requirements' },
      row('Which is worse?', this.#prefer),
      row('New keys skipped, at most', this.#maxFpr, unit()),
      row('Repeats let through, at most', this.#maxFnr, unit()),
      row('Cost of a skipped new key', this.#costFp),
      row('Cost of a repeat let through', this.#costFn),
    );
  }

  requirements(): ErrorRequirements {
    return {
      maxFpr: shareOf(this.#maxFpr, 'new keys skipped'),
      maxFnr: shareOf(this.#maxFnr, 'repeats let through'),
      costFp: costOf(this.#costFp),
      costFn: costOf(this.#costFn),
      prefer: this.#preference(),
    };
  }

  restore(requirements: ErrorRequirements): void {
    const percent = (share: number | null) => (share === null ? '' : String(share * 100));
    this.#maxFpr.value = percent(requirements.maxFpr);
    this.#maxFnr.value = percent(requirements.maxFnr);
    this.#costFp.value = String(requirements.costFp);
    this.#costFn.value = String(requirements.costFn);
    this.#prefer.value = requirements.prefer;
  }

  #preference(): Preference {
    const chosen = PREFERENCES.find(([value]) => value === this.#prefer.value);
    return chosen?.[0] ?? 'balanced';
  }
}

function percentInput(id: string): HTMLInputElement {
  return create('input', {
    id,
    type: 'number',
    min: '0',
    max: '100',
    step: 'any',
    placeholder: 'any',
    inputmode: 'decimal',
  });
}

function costInput(id: string): HTMLInputElement {
  const attributes = { type: 'number', min: '0', step: 'any', value: '1', inputmode: 'decimal' };
  return create('input', { id, ...attributes });
}

function row(text: string, input: HTMLElement, ...after: HTMLElement[]): HTMLElement {
  input.id ||= uniqueId();
  const label = create('label', { for: input.id }, text);
  return create('div', { class: 'requirements-row' }, label, input, ...after);
}

function shareOf(input: HTMLInputElement, what: string): number | null {
  if (input.value === '' && input.validity.valid) {
    return null;
  }
  const percent = input.valueAsNumber;
  if (!(percent >= 0 && percent <= 100)) {
    throw new InvalidInput(
      `The highest share of ${what} must be from 0 to 100 %, or empty for any share.`,
    );
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
