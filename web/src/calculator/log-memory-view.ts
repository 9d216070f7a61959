// The memory that filters need on the log of the page for few enough errors.

import { create, filterName, find, withCode } from '../ui/element.js';
import { InvalidInput } from '../ui/invalid-input.js';
import { MISSING, formatBytes, formatCount, formatShare, formatShareTick } from '../ui/number-format.js';
import { parseShare } from '../ui/number-parse.js';
import { MemoryFinder } from './memory-finder.js';
import type { FoundMemory } from './protocol.js';
import type { CalculatorHost } from './view.js';

export class LogMemoryView {
  readonly #host: CalculatorHost;
  readonly #finder = new MemoryFinder();
  readonly #error = find('memory-error', HTMLInputElement);
  readonly #progress = find('memory-progress', HTMLProgressElement);
  readonly #status = find('memory-status', HTMLElement);
  readonly #scroll = find('memory-scroll', HTMLElement);
  readonly #rows = find('memory-rows', HTMLElement);

  constructor(host: CalculatorHost) {
    this.#host = host;
    find('memory-form', HTMLFormElement).addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#search();
    });
  }

  async #search(): Promise<void> {
    const maxError = parseShare(this.#error.value);
    this.#error.ariaInvalid = String(maxError === null);
    if (maxError === null) {
      this.#say('The share must be a number like 0.1 % or 0.001.');
      return;
    }
    let source: Awaited<ReturnType<CalculatorHost['source']>>;
    try {
      source = await this.#host.source();
    } catch (error) {
      this.#say(error instanceof InvalidInput ? error.message : String(error));
      return;
    }
    const { filters, ...log } = source;
    const all: FoundMemory[] = [];
    this.#progress.hidden = false;
    this.#progress.removeAttribute('value');
    this.#say(`Searching for the memory on ${log.name}.`);
    this.#finder.search(log, { filters, maxError }, {
      reading: (share) => {
        this.#progress.value = share;
      },
      found: (found) => {
        all.push(found);
        all.sort((a, b) => (a.memory?.memoryBits ?? Infinity) - (b.memory?.memoryBits ?? Infinity));
        this.#say(sentence(all[0] ?? found, formatShareTick(maxError), log.name));
        this.#scroll.hidden = false;
        this.#rows.replaceChildren(...all.map((it) => this.#row(it)));
      },
      finished: () => {
        this.#progress.hidden = true;
      },
      failed: (message) => this.#fail(message),
    });
  }

  #row({ filter, name, memory }: FoundMemory): HTMLElement {
    const use = create('button', { type: 'button', class: 'quiet', 'aria-label': `Use ${name}` }, 'Use');
    if (memory !== null) {
      use.addEventListener('click', () => this.#host.use({ filter, memoryBits: memory.memoryBits }));
    }
    return create(
      'tr',
      { 'data-filter': filter, 'data-memory-bits': String(memory?.memoryBits ?? '') },
      create('th', { scope: 'row' }, filterName({ name, filter })),
      create('td', {}, memory === null ? 'not possible' : formatBytes(memory.memoryBits / 8)),
      ...[memory?.fpr, memory?.fnr, memory?.error].map((share) =>
        create('td', {}, share === undefined ? MISSING : formatShare(share)),
      ),
      create('td', {}, ...(memory === null ? [] : [use])),
    );
  }

  #fail(message: string): void {
    this.#progress.hidden = true;
    this.#say(message);
  }

  #say(text: string): void {
    this.#status.replaceChildren(...withCode(text));
  }
}

function sentence({ name, memory, oneKeyIn }: FoundMemory, maxError: string, log: string): string {
  if (memory === null) {
    return `No memory is enough for at most ${maxError} wrong lines of ${log}.`;
  }
  const sample = oneKeyIn > 1 ? ` From a sample of one key in ${formatCount(oneKeyIn)}.` : '';
  return `For at most ${maxError} wrong lines of ${log}, ${name} needs ${formatBytes(memory.memoryBits / 8)}.${sample}`;
}
