// The calculator: two of keys, memory and error rate give the third, for every filter with a
// formula. It needs no log.

import type { CalculatorResult } from '../engine/query-protocol.js';
import type { QueryClient } from '../engine/queries.js';
import { create, filterName, find } from '../ui/element.js';
import {
  formatBytes,
  formatCount,
  formatCounted,
  formatDigits,
  formatShare,
  formatShareTick,
} from '../ui/number-format.js';
import { parseBytes, parseCount, parseShare } from '../ui/number-parse.js';
import type { CalculatedFilter, CalculatorInput } from '../wasm/dedupstore_wasm.js';
import type { CalculatorHost } from './view.js';
import type { CalculatorState } from './state.js';

const TYPING_MILLISECONDS = 80;
/** The filters that most people ask for come first. */
const FIRST_FILTERS = ['bloom', 'blocked'];
/** The fields of which one is calculated. */
const SOLVED = ['keys', 'error', 'memory'] as const;
type Solved = (typeof SOLVED)[number];

export class CalculatorView {
  readonly #queries: QueryClient;
  readonly #host: CalculatorHost;
  readonly #inputs = {
    keys: find('calculator-keys', HTMLInputElement),
    error: find('calculator-error', HTMLInputElement),
    memory: find('calculator-memory', HTMLInputElement),
    k: find('calculator-k', HTMLInputElement),
    linesPerKey: find('calculator-repeats', HTMLInputElement),
  };
  readonly #answer = find('calculator-answer', HTMLElement);
  readonly #scroll = find('calculator-scroll', HTMLElement);
  readonly #rows = find('calculator-rows', HTMLElement);
  readonly #impossible = find('calculator-impossible', HTMLElement);
  readonly #names: Promise<string[]>;
  /** The given values, the latest last. */
  #given: Solved[] = ['keys', 'error'];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastCalculation = 0;

  constructor(queries: QueryClient, host: CalculatorHost) {
    this.#queries = queries;
    this.#host = host;
    this.#names = queries
      .ask({ kind: 'calculatedFilters' })
      .then(({ filters }) => [
        ...FIRST_FILTERS,
        ...filters.filter((name) => !FIRST_FILTERS.includes(name)),
      ]);
    find('calculator-form', HTMLFormElement).addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#calculate();
    });
    for (const [name, input] of Object.entries(this.#inputs)) {
      input.addEventListener('input', () => {
        this.#typed(name);
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#calculate(), TYPING_MILLISECONDS);
      });
    }
  }

  get state(): CalculatorState {
    const { keys, error, memory, k, linesPerKey } = this.#inputs;
    return {
      keys: keys.value,
      error: error.value,
      memory: memory.value,
      k: k.value,
      linesPerKey: linesPerKey.value,
    };
  }

  restore(state: CalculatorState): void {
    for (const [name, input] of Object.entries(this.#inputs)) {
      input.value = state[name as keyof CalculatorState];
    }
    this.#given = SOLVED.filter((name) => state[name] !== '');
    void this.#calculate();
  }

  /** Of three given values, the one that was typed first is calculated again. */
  #typed(name: string): void {
    const solved = SOLVED.find((it) => it === name);
    if (solved === undefined) {
      return;
    }
    this.#given = this.#given.filter((it) => it !== solved);
    if (this.#inputs[solved].value.trim() !== '') {
      this.#given.push(solved);
    }
    if (this.#given.length > 2) {
      const [oldest, ...others] = this.#given;
      this.#given = others;
      if (oldest !== undefined) {
        this.#inputs[oldest].value = '';
      }
    }
  }

  async #calculate(): Promise<void> {
    clearTimeout(this.#timer);
    this.#lastCalculation += 1;
    const id = this.#lastCalculation;
    const given = this.#read();
    if (typeof given === 'string') {
      this.#answer.textContent = given;
      this.#scroll.hidden = true;
      this.#impossible.textContent = '';
      return;
    }
    const results: CalculatorResult[] = [];
    try {
      for (const name of await this.#names) {
        const answer = await this.#queries.ask({ kind: 'calculate', filters: [name], given });
        if (id !== this.#lastCalculation) {
          return;
        }
        results.push(...answer.results);
        this.#show(given, results);
      }
    } catch (error) {
      this.#answer.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  /** Returns what is missing or not understood as a sentence. */
  #read(): CalculatorInput | string {
    const values: CalculatorInput = {
      keys: null,
      error: null,
      memoryBits: null,
      k: null,
      linesPerKey: 2,
    };
    const { keys, error, memory, k, linesPerKey } = this.#inputs;
    const problems: string[] = [];
    const read = (
      input: HTMLInputElement,
      parse: (text: string) => number | null,
      expected: string,
    ): number | null => {
      const isEmpty = input.value.trim() === '';
      const value = isEmpty ? null : parse(input.value);
      input.ariaInvalid = String(!isEmpty && value === null);
      if (!isEmpty && value === null) {
        problems.push(expected);
      }
      return value;
    };
    values.keys = read(keys, parseCount, 'The number of keys must be a number like 1,000,000 or 10M.');
    values.error = read(error, parseShare, 'The error rate must be a share like 0.1 % or 0.001.');
    const bytes = read(memory, parseBytes, 'The memory must be a size like 64 MiB.');
    values.memoryBits = bytes === null ? null : Math.floor(bytes) * 8;
    values.k = read(k, parseCount, 'k must be a whole number.');
    values.linesPerKey = read(linesPerKey, parseCount, 'The lines per key must be a number from 1.') ?? 2;
    if (problems.length > 0) {
      return problems.join(' ');
    }
    const count = [values.keys, values.error, values.memoryBits].filter((it) => it !== null).length;
    return count === 2 ? values : 'Fill in two of keys, error rate and memory.';
  }

  #show(given: CalculatorInput, results: CalculatorResult[]): void {
    const calculated = results.flatMap((it) => it.calculated ?? []);
    const impossible = results.filter((it) => it.calculated === null).map(({ name }) => name);
    const best = [...calculated].sort(better(given));
    this.#answer.replaceChildren(...(best[0] === undefined ? ['No filter can do that.'] : sentence(given, best[0])));
    this.#scroll.hidden = best.length === 0;
    this.#scroll.classList.toggle('keys-given', given.keys !== null);
    this.#rows.replaceChildren(...best.map((it) => this.#row(it)));
    this.#impossible.textContent =
      impossible.length === 0 ? '' : `Not possible with these numbers: ${impossible.join(', ')}.`;
  }

  #row(it: CalculatedFilter): HTMLElement {
    const use = create('button', { type: 'button', class: 'quiet', 'aria-label': `Use ${it.name}` }, 'Use');
    use.addEventListener('click', () => this.#host.use({ filter: it.filter, memoryBits: it.memoryBits }));
    return create(
      'tr',
      { 'data-filter': it.filter, title: `Formula: ${it.by}` },
      create('th', { scope: 'row' }, filterName(it)),
      create('td', {}, formatCount(it.keys)),
      create('td', {}, formatBytes(it.memoryBits / 8)),
      create('td', {}, formatDigits(it.memoryBits / it.keys)),
      create('td', {}, formatShare(it.fpr)),
      create('td', {}, formatShare(it.fnr)),
      create('td', {}, use),
    );
  }
}

function better(given: CalculatorInput): (a: CalculatedFilter, b: CalculatedFilter) => number {
  if (given.keys === null) {
    return (a, b) => b.keys - a.keys;
  }
  return given.memoryBits === null
    ? (a, b) => a.memoryBits - b.memoryBits
    : (a, b) => Math.max(a.fpr, a.fnr) - Math.max(b.fpr, b.fnr);
}

function sentence(given: CalculatorInput, best: CalculatedFilter): (Node | string)[] {
  const filter = filterName(best);
  const [keys, memory] = [formatCounted(best.keys, 'key'), formatBytes(best.memoryBits / 8)];
  const limit = `at most ${formatShareTick(given.error ?? 0)} wrong answers`;
  if (given.keys === null) {
    return [`${memory} is enough for ${keys} with ${limit}: `, filter, '.'];
  }
  return given.memoryBits === null
    ? [`${keys} with ${limit}: ${memory} is enough, with `, filter, '.']
    : [`${keys} in ${memory}: ${formatShare(Math.max(best.fpr, best.fnr))} wrong answers with `, filter, '.'];
}
