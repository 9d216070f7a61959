// The settings, without the log, in the fragment of the page's address. Browsers do not
// send the fragment to the server.

import type { ErrorRequirements } from '../advice/requirements-input.js';
import type { CalculatorState } from '../calculator/state.js';
import type { KeyPart, KeySpec, LogPart } from '../wasm/dedupstore_wasm.js';

const PREFERENCES = ['balanced', 'no-drops', 'no-repeats'] as const;

export interface SharedSettings {
  memoryBits: number | null;
  seed: number | null;
  filters: string[];
  key: KeySpec | null;
  /** The id of a sample. Other logs are not shared. */
  sample: string | null;
  part: LogPart;
  requirements: ErrorRequirements;
  /** Null if the calculator is closed. */
  calculator: CalculatorState | null;
}

/** The settings of a link. */
export interface LinkSettings extends SharedSettings {
  /** The parts of the link that are not understood. */
  unknown: string[];
}

/** The names of the calculator's texts in a link. */
const CALCULATOR_NAMES = {
  keys: 'calculator_keys',
  error: 'calculator_error',
  memory: 'calculator_memory',
  k: 'calculator_k',
  linesPerKey: 'calculator_lines_per_key',
} as const satisfies Record<keyof CalculatorState, string>;

export function writeLink(address: string, settings: SharedSettings): string {
  const fields = new URLSearchParams();
  const put = (name: string, value: string | number | null) => {
    if (value !== null) {
      fields.append(name, String(value));
    }
  };
  const { memoryBits, seed, filters, key, sample, part, requirements, calculator } = settings;
  put('memory_bits', memoryBits);
  put('seed', seed);
  filters.forEach((filter) => put('filter', filter));
  put('sample', sample);
  if (part !== 'all') {
    put('one_key_in', 'oneKeyIn' in part ? part.oneKeyIn : null);
    put('first_lines', 'firstLines' in part ? part.firstLines : null);
  }
  putRequirements(requirements, put);
  if (key !== null) {
    putKeyPart(key.part, put);
    put('normalize', key.normalize ? 'whatwg' : null);
    put('importance', key.importance);
  }
  if (calculator !== null) {
    for (const [part, name] of Object.entries(CALCULATOR_NAMES)) {
      put(name, calculator[part as keyof CalculatorState]);
    }
  }
  return `${address.split('#')[0]}#${fields}`;
}

type Put = (name: string, value: string | number | null) => void;

function putKeyPart(part: KeyPart, put: Put): void {
  if (part === 'line') {
    return;
  }
  if ('fields' in part) {
    put('field', part.fields.numbers.join(','));
    put('delimiter', part.fields.delimiter);
  } else if ('json' in part) {
    put('json_key', part.json);
  } else {
    put('key_regex', part.regex);
  }
}

/** Only values that differ from the default. */
function putRequirements(
  { maxFpr, maxFnr, costFp, costFn, prefer }: ErrorRequirements,
  put: Put,
): void {
  put('max_fpr', maxFpr);
  put('max_fnr', maxFnr);
  put('cost_fp', costFp === 1 ? null : costFp);
  put('cost_fn', costFn === 1 ? null : costFn);
  put('prefer', prefer === 'balanced' ? null : prefer);
}

/** Returns null if the address has no settings. */
export function readLink(address: string): LinkSettings | null {
  const hash = address.indexOf('#');
  const fields = new Fields(hash < 0 ? '' : address.slice(hash + 1));
  // A fragment without a value leads to a part of the page.
  if (fields.isEmpty || !address.includes('=', hash)) {
    return null;
  }
  const settings: SharedSettings = {
    memoryBits: fields.read('memory_bits', wholeNumber),
    seed: fields.read('seed', wholeNumber),
    filters: fields.all('filter'),
    key: {
      part: keyPart(fields),
      normalize: fields.read('normalize', (text) => text === 'whatwg' || null) ?? false,
      importance: fields.text('importance'),
    },
    sample: fields.text('sample'),
    part: logPart(fields),
    requirements: {
      maxFpr: fields.read('max_fpr', share),
      maxFnr: fields.read('max_fnr', share),
      costFp: fields.read('cost_fp', nonNegativeNumber) ?? 1,
      costFn: fields.read('cost_fn', nonNegativeNumber) ?? 1,
      prefer:
        fields.read('prefer', (text) => PREFERENCES.find((word) => word === text) ?? null) ??
        'balanced',
    },
    calculator: calculatorState(fields),
  };
  return { ...settings, unknown: fields.unknown() };
}

/** The fields of a link. Those that were not read, or not understood, are unknown. */
class Fields {
  readonly #fields: URLSearchParams;
  readonly #understood = new Set<string>();

  constructor(text: string) {
    this.#fields = new URLSearchParams(text);
  }

  get isEmpty(): boolean {
    return this.#fields.size === 0;
  }

  all(name: string): string[] {
    this.#understood.add(name);
    return this.#fields.getAll(name);
  }

  text(name: string): string | null {
    return this.read(name, (text) => text);
  }

  /** Returns null if the field is missing or if its text is not understood. */
  read<Value>(name: string, parse: (text: string) => Value | null): Value | null {
    const text = this.#fields.get(name);
    const value = text === null ? null : parse(text);
    if (value !== null) {
      this.#understood.add(name);
    }
    return value;
  }

  unknown(): string[] {
    const others = [...this.#fields].filter(([name]) => !this.#understood.has(name));
    return others.map(([name, value]) => `${name}=${value}`);
  }
}

function calculatorState(fields: Fields): CalculatorState | null {
  const text = (part: keyof CalculatorState) => fields.text(CALCULATOR_NAMES[part]);
  const parts = ['keys', 'error', 'memory', 'k', 'linesPerKey'] as const;
  const [keys, error, memory, k, linesPerKey] = parts.map(text);
  if ([keys, error, memory, k, linesPerKey].every((it) => it === null)) {
    return null;
  }
  return {
    keys: keys ?? '',
    error: error ?? '',
    memory: memory ?? '',
    k: k ?? '',
    linesPerKey: linesPerKey ?? '2',
  };
}

function logPart(fields: Fields): LogPart {
  const oneKeyIn = fields.read('one_key_in', wholeNumber);
  const firstLines = fields.read('first_lines', wholeNumber);
  if (oneKeyIn !== null) {
    return { oneKeyIn };
  }
  return firstLines !== null ? { firstLines } : 'all';
}

function keyPart(fields: Fields): KeyPart {
  const numbers = fields.read('field', fieldNumbers);
  const delimiter = fields.text('delimiter');
  const json = fields.text('json_key');
  const regex = fields.text('key_regex');
  if (numbers !== null) {
    return { fields: { numbers, delimiter } };
  }
  if (json !== null) {
    return { json };
  }
  return regex !== null ? { regex } : 'line';
}

function fieldNumbers(text: string): number[] | null {
  const numbers = text.split(',').map(Number);
  return numbers.every((number) => Number.isInteger(number) && number > 0) ? numbers : null;
}

function wholeNumber(text: string): number | null {
  const number = nonNegativeNumber(text);
  return number !== null && Number.isSafeInteger(number) ? number : null;
}

function share(text: string): number | null {
  const number = nonNegativeNumber(text);
  return number !== null && number <= 1 ? number : null;
}

/** A number from 0; null if the text is something else. */
function nonNegativeNumber(text: string): number | null {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(number) && number >= 0 ? number : null;
}
