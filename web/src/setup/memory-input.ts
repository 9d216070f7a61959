// How much memory each filter gets: a number with its unit, and a slider for the same.

import { find, make } from './element.js';
import { InvalidInput } from './invalid-input.js';
import { BYTE_UNITS, type ByteUnit, fittingUnit, formatBytes, formatDigits } from './number-format.js';

const INITIAL_UNIT: ByteUnit['name'] = 'KiB';
/** The slider's ends, as powers of two: 1 KiB and 64 MiB. */
const LEAST_POWER = 10;
const MOST_POWER = 26;

export class MemoryInput {
  readonly #size = find('memory-size', HTMLInputElement);
  readonly #unit = find('memory-unit', HTMLSelectElement);
  readonly #slider = find('memory-slider', HTMLInputElement);
  readonly #aKey = find('memory-a-key', HTMLElement);
  #distinct: number | undefined;

  constructor() {
    for (const { name } of BYTE_UNITS) {
      this.#unit.append(make('option', { value: name }, name));
    }
    this.#unit.value = INITIAL_UNIT;
    this.#slider.min = String(LEAST_POWER);
    this.#slider.max = String(MOST_POWER);
    this.#slider.step = '0.5';
    this.#slider.addEventListener('input', () => this.#followSlider());
    this.#size.addEventListener('input', () => this.#moveSlider());
    this.#unit.addEventListener('input', () => this.#moveSlider());
    this.#moveSlider();
  }

  /** What was asked for. Whether a filter can work in it, the engine says. */
  bits(): number {
    const bytes = this.#bytes();
    if (!(bytes > 0)) {
      throw new InvalidInput('The memory must be a number above 0.');
    }
    return Math.floor(bytes * 8);
  }

  restore(bits: number): void {
    const bytes = bits / 8;
    const unit = fittingUnit(bytes);
    this.#size.value = String(bytes / unit.bytes);
    this.#unit.value = unit.name;
    this.#moveSlider();
  }

  /** How many different keys the log has, once that is known. */
  showDistinct(distinct: number | undefined): void {
    this.#distinct = distinct;
    this.#describeSlider();
  }

  #bytes(): number {
    const unit = BYTE_UNITS.find(({ name }) => name === this.#unit.value) ?? BYTE_UNITS[0];
    return this.#size.valueAsNumber * unit.bytes;
  }

  #followSlider(): void {
    const bytes = sizeAt(this.#slider.valueAsNumber);
    const unit = fittingUnit(bytes);
    this.#size.value = String(bytes / unit.bytes);
    this.#unit.value = unit.name;
    this.#describeSlider();
  }

  #moveSlider(): void {
    const bytes = this.#bytes();
    if (bytes > 0) {
      this.#slider.value = String(Math.log2(bytes));
    }
    this.#describeSlider();
  }

  #describeSlider(): void {
    const text = formatBytes(sizeAt(this.#slider.valueAsNumber));
    this.#slider.setAttribute('aria-valuetext', text);
    const bits = this.#bytes() * 8;
    this.#aKey.textContent =
      this.#distinct !== undefined && this.#distinct > 0 && bits > 0
        ? `Each filter gets this much: ${formatDigits(bits / this.#distinct)} bits a distinct key.`
        : 'Each filter gets this much.';
  }
}

/** Half a step is half as much again, not √2: 8 KiB, 12 KiB, 16 KiB. */
function sizeAt(power: number): number {
  const whole = Math.floor(power);
  return 2 ** whole * (power > whole ? 1.5 : 1);
}
