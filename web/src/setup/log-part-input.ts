// The part of the log that is read. Results of a sample are marked as such.

import { create, find } from '../ui/element.js';
import { InvalidInput } from '../ui/invalid-input.js';
import { formatCount, formatCounted } from '../ui/number-format.js';
import type { LogPart } from '../wasm/dedupstore_wasm.js';

/** Powers of two, so that the intervals of the gap table stay powers of two. */
const ONE_KEY_IN = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

export class LogPartInput {
  readonly #choice = find('part-choice', HTMLSelectElement);
  readonly #oneKeyIn = find('part-keys', HTMLSelectElement);
  readonly #firstLines = find('part-lines', HTMLInputElement);
  readonly #hint = find('part-hint', HTMLElement);

  constructor() {
    const options = ONE_KEY_IN.map((count) =>
      create('option', { value: `${count}` }, formatCount(count)),
    );
    this.#oneKeyIn.append(...options);
    this.#oneKeyIn.value = '8';
    for (const input of [this.#choice, this.#oneKeyIn]) {
      input.addEventListener('change', () => this.#update());
    }
    this.#update();
  }

  part(): LogPart {
    switch (this.#choice.value) {
      case 'oneKeyIn':
        return { oneKeyIn: Number(this.#oneKeyIn.value) };
      case 'firstLines': {
        const firstLines = this.#firstLines.valueAsNumber;
        if (!Number.isSafeInteger(firstLines) || firstLines < 1) {
          throw new InvalidInput('The number of lines to read must be a whole number from 1.');
        }
        return { firstLines };
      }
      default:
        return 'all';
    }
  }

  restore(part: LogPart): void {
    if (part === 'all') {
      this.#choice.value = 'all';
    } else if ('oneKeyIn' in part) {
      this.#choice.value = 'oneKeyIn';
      if (ONE_KEY_IN.includes(part.oneKeyIn)) {
        this.#oneKeyIn.value = String(part.oneKeyIn);
      }
    } else {
      this.#choice.value = 'firstLines';
      this.#firstLines.value = String(part.firstLines);
    }
    this.#update();
  }

  #update(): void {
    const choice = this.#choice.value;
    this.#oneKeyIn.hidden = choice !== 'oneKeyIn';
    this.#firstLines.hidden = choice !== 'firstLines';
    this.#hint.textContent = hint(choice, Number(this.#oneKeyIn.value));
  }
}

/** How the results of a part differ from those of the whole log. */
function hint(choice: string, oneKeyIn: number): string {
  switch (choice) {
    case 'oneKeyIn':
      return (
        `Reads all lines of a random 1/${oneKeyIn} of the keys, with 1/${oneKeyIn} of the ` +
        'memory. Rates and gaps are those of the whole log, apart from chance: counts from ' +
        'few lines are imprecise, and a very frequent key may be missing.'
      );
    case 'firstLines':
      return (
        'As if the log ended there. Rates on the whole log are higher: it fills the filters ' +
        'more and has repeats from further back.'
      );
    default:
      return '';
  }
}

/** The keys of the log per key of the sample. */
export function keysPerSampledKey(part: LogPart): number {
  return typeof part === 'object' && 'oneKeyIn' in part ? part.oneKeyIn : 1;
}

/** The name of a part; '' for the whole log. */
export function partName(part: LogPart): string {
  if (part === 'all') {
    return '';
  }
  return 'oneKeyIn' in part
    ? `one key in ${formatCount(part.oneKeyIn)}`
    : `the first ${formatCounted(part.firstLines, 'line')}`;
}

/** Marks all results on the page as those of a sample, or removes the marks. */
export function markSample(part: LogPart): void {
  const name = partName(part);
  for (const mark of document.querySelectorAll<HTMLElement>('[data-sample]')) {
    mark.textContent = name === '' ? '' : `Sample: ${name}`;
    mark.hidden = name === '';
  }
}
