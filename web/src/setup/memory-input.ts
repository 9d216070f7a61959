// The memory of each filter: a number with a unit in the form, and a slider beside the answer.

import { create, find } from '../ui/element.js';
import { InvalidInput } from '../ui/invalid-input.js';
import {
  BYTE_UNITS,
  type ByteUnit,
  fittingUnit,
  formatBytes,
  formatDigits,
} from '../ui/number-format.js';

const INITIAL_UNIT: ByteUnit['name'] = 'KiB';
/** The ends of the slider as powers of two: 1 KiB and 64 MiB. */
const MIN_POWER = 10;
const MAX_POWER = 26;
const COMFORTABLE_BITS_PER_KEY = 10;

export class MemoryInput {
  readonly #size = find('memory-size', HTMLInputElement);
  readonly #unit = find('memory-unit', HTMLSelectElement);
  readonly #slider = find('memory-slider', HTMLInputElement);
  readonly #shown = find('memory-shown', HTMLElement);
  readonly #hint = find('memory-hint', HTMLElement);
  #distinct: number | undefined;
  /** Whether the user or a link has set the memory. */
  #isChosen = false;
  /** Whether the memory was only estimated from the first lines of the log. */
  #isEstimate = false;

  constructor() {
    for (const { name } of BYTE_UNITS) {
      this.#unit.append(create('option', { value: name }, name));
    }
    this.#unit.value = INITIAL_UNIT;
    this.#slider.min = String(MIN_POWER);
    this.#slider.max = String(MAX_POWER);
    this.#slider.step = '0.5';
    this.#slider.addEventListener('input', () => this.#followSlider());
    this.#slider.addEventListener('change', () => this.#tellForm('change'));
    for (const input of [this.#size, this.#unit]) {
      input.addEventListener('input', () => {
        this.#isChosen = true;
        this.#moveSlider();
      });
    }
    this.#moveSlider();
  }

  /** The engine checks whether a filter can be created in this memory. */
  bits(): number {
    const bytes = this.#bytes();
    if (!(bytes > 0)) {
      throw new InvalidInput('The memory must be a number above 0.');
    }
    return Math.floor(bytes * 8);
  }

  /** Sets the memory for a new log, unless it has been chosen. */
  suggest(bits: number): void {
    if (!this.#isChosen) {
      this.#isEstimate = true;
      this.#set(bits);
    }
  }

  /**
   * Corrects a suggested memory when the number of distinct keys is known, once per log. Returns
   * whether it was far from comfortable.
   */
  correctSuggestion(): boolean {
    const bits = (this.#distinct ?? 0) * COMFORTABLE_BITS_PER_KEY;
    const isFar = Math.abs(Math.log2(bits / (this.#bytes() * 8))) >= 1;
    const corrects = this.#isEstimate && !this.#isChosen && bits > 0 && isFar;
    this.#isEstimate = false;
    if (corrects) {
      const power = Math.round(2 * Math.log2(bits / 8)) / 2;
      this.#set(8 * bytesAt(Math.min(Math.max(power, MIN_POWER), MAX_POWER)));
    }
    return corrects;
  }

  restore(bits: number): void {
    this.#isChosen = true;
    this.#set(bits);
  }

  #set(bits: number): void {
    const bytes = bits / 8;
    const unit = fittingUnit(bytes);
    this.#size.value = String(bytes / unit.bytes);
    this.#unit.value = unit.name;
    this.#moveSlider();
  }

  /** Sets the number of distinct keys in the log; undefined if it is unknown. */
  setDistinct(distinct: number | undefined): void {
    this.#distinct = distinct;
    this.#updateHints();
  }

  #bytes(): number {
    const unit = BYTE_UNITS.find(({ name }) => name === this.#unit.value) ?? BYTE_UNITS[0];
    return this.#size.valueAsNumber * unit.bytes;
  }

  #followSlider(): void {
    this.#isChosen = true;
    const bytes = bytesAt(this.#slider.valueAsNumber);
    const unit = fittingUnit(bytes);
    this.#size.value = String(bytes / unit.bytes);
    this.#unit.value = unit.name;
    this.#updateHints();
    this.#tellForm('input');
  }

  /** The slider is outside the form: its changes are those of the number. */
  #tellForm(type: 'input' | 'change'): void {
    this.#size.dispatchEvent(new Event(type, { bubbles: true }));
  }

  #moveSlider(): void {
    const bytes = this.#bytes();
    if (bytes > 0) {
      this.#slider.value = String(Math.log2(bytes));
    }
    this.#updateHints();
  }

  #updateHints(): void {
    const text = formatBytes(bytesAt(this.#slider.valueAsNumber));
    this.#slider.setAttribute('aria-valuetext', text);
    const bits = this.#bytes() * 8;
    this.#shown.textContent = bits > 0 ? formatBytes(bits / 8) : '';
    this.#hint.textContent =
      this.#distinct !== undefined && this.#distinct > 0 && bits > 0
        ? `About ${perKey(bits / this.#distinct)} per distinct key (${COMFORTABLE_BITS_PER_KEY} is comfortable).`
        : '';
  }
}

function perKey(bits: number): string {
  const text = formatDigits(bits >= 1 ? Math.round(bits * 10) / 10 : bits);
  return `${text} ${text === '1' ? 'bit' : 'bits'}`;
}

/** A half step is 1.5 times as much, not √2 times: 8 KiB, 12 KiB, 16 KiB. */
function bytesAt(power: number): number {
  const whole = Math.floor(power);
  return 2 ** whole * (power > whole ? 1.5 : 1);
}
