// The seed of the run: the same seed and the same log give the same numbers everywhere.

import { find } from './element.js';
import { InvalidInput } from './invalid-input.js';

const LARGEST = 2 ** 32 - 1;

export class SeedInput {
  readonly #input = find('seed', HTMLInputElement);

  restore(seed: number): void {
    this.#input.value = String(seed);
  }

  seed(): number {
    const seed = this.#input.valueAsNumber;
    if (!Number.isInteger(seed) || seed < 0 || seed > LARGEST) {
      throw new InvalidInput(`The seed must be a whole number from 0 to ${LARGEST}.`);
    }
    return seed;
  }
}
