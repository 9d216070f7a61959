// Which part of the log is read, and what that does to the results. A sample is named
// wherever something of it is shown.

import { find, make } from './element.js';
import { InvalidInput } from './invalid-input.js';
import { formatCount } from './number-format.js';
import type { LogPart } from './protocol.js';

/** Powers of two, so that spans of gaps stay spans. */
const ONE_IN = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

const ALL: LogPart = { kind: 'all' };

export class PartInput {
  readonly #choice = find('part-choice', HTMLSelectElement);
  readonly #oneIn = find('part-keys', HTMLSelectElement);
  readonly #first = find('part-lines', HTMLInputElement);
  readonly #hint = find('part-hint', HTMLElement);

  constructor() {
    const options = ONE_IN.map((count) => make('option', { value: `${count}` }, formatCount(count)));
    this.#oneIn.append(...options);
    this.#oneIn.value = '8';
    for (const input of [this.#choice, this.#oneIn]) {
      input.addEventListener('change', () => this.#show());
    }
    this.#show();
  }

  part(): LogPart {
    switch (this.#choice.value) {
      case 'keys':
        return { kind: 'keys', oneIn: Number(this.#oneIn.value) };
      case 'lines': {
        const first = this.#first.valueAsNumber;
        if (!Number.isSafeInteger(first) || first < 1) {
          throw new InvalidInput('The number of lines to read must be a whole number from 1.');
        }
        return { kind: 'lines', first };
      }
      default:
        return ALL;
    }
  }

  restore(part: LogPart): void {
    this.#choice.value = part.kind;
    if (part.kind === 'keys' && ONE_IN.includes(part.oneIn)) {
      this.#oneIn.value = String(part.oneIn);
    }
    if (part.kind === 'lines') {
      this.#first.value = String(part.first);
    }
    this.#show();
  }

  #show(): void {
    const kind = this.#choice.value;
    this.#oneIn.hidden = kind !== 'keys';
    this.#first.hidden = kind !== 'lines';
    this.#hint.textContent = distortion(kind, Number(this.#oneIn.value));
  }
}

/** What a part of the log says wrongly of all of it. */
function distortion(kind: string, oneIn: number): string {
  switch (kind) {
    case 'keys':
      return (
        `Every line of the keys that their hash picks, in 1/${oneIn} of the memory: gaps and ` +
        'rates are those of the whole log, but for chance. What few lines decide is rough, and ' +
        'a very frequent key is in it or not.'
      );
    case 'lines':
      return (
        'As if the log ended there. Fewer keys leave the filters emptier, and repeats from ' +
        'further back are missing: on the whole log the rates are higher.'
      );
    default:
      return '';
  }
}

/** A part of a log by name; '' for all of it. */
export function partName(part: LogPart): string {
  switch (part.kind) {
    case 'all':
      return '';
    case 'keys':
      return `one key in ${formatCount(part.oneIn)}`;
    case 'lines':
      return `the first ${formatCount(part.first)} lines`;
  }
}

/** Says of everything on the page that is of a sample that it is. */
export function markSample(part: LogPart): void {
  const name = partName(part);
  for (const mark of document.querySelectorAll<HTMLElement>('[data-sample]')) {
    mark.textContent = name === '' ? '' : `Sample: ${name}`;
    mark.hidden = name === '';
  }
}
