// The seed of a run. The same seed and log give the same numbers everywhere.

import { find } from '../ui/element.js';
import { InvalidInput } from '../ui/invalid-input.js';

const MAX_SEED = 2 ** 32 - 1;

export class SeedInput {
  readonly #input = find('seed', HTMLInputElement);

  restore(seed: number): void {
    this.#input.value = String(seed);
  }

  seed(): number {
    const seed = this.#input.valueAsNumber;
    if (!Number.isInteger(seed) || seed < 0 || seed > MAX_SEED) {
      throw new InvalidInput(`The seed must be a whole number from 0 to ${MAX_SEED}.`);
    }
    return seed;
  }
}
