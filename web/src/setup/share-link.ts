// The settings, without the log, in the fragment of the page's address. Browsers do not
// send the fragment to the server.

import type { ErrorRequirements } from '../advice/requirements-input.js';
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
}

export function writeLink(address: string, settings: SharedSettings): string {
  const fields = new URLSearchParams();
  const put = (name: string, value: string | number | null) => {
    if (value !== null) {
      fields.append(name, String(value));
    }
  };
  const { memoryBits, seed, filters, key, sample, part, requirements } = settings;
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
export function readLink(address: string): SharedSettings | null {
  const fields = new URLSearchParams(address.split('#')[1] ?? '');
  if ([...fields].length === 0) {
    return null;
  }
  return {
    memoryBits: wholeNumber(fields.get('memory_bits')),
    seed: wholeNumber(fields.get('seed')),
    filters: fields.getAll('filter'),
    key: {
      part: keyPart(fields),
      normalize: fields.get('normalize') === 'whatwg',
      importance: fields.get('importance'),
    },
    sample: fields.get('sample'),
    part: logPart(fields),
    requirements: {
      maxFpr: share(fields.get('max_fpr')),
      maxFnr: share(fields.get('max_fnr')),
      costFp: nonNegativeNumber(fields.get('cost_fp')) ?? 1,
      costFn: nonNegativeNumber(fields.get('cost_fn')) ?? 1,
      prefer: PREFERENCES.find((word) => word === fields.get('prefer')) ?? 'balanced',
    },
  };
}

function logPart(fields: URLSearchParams): LogPart {
  const oneKeyIn = wholeNumber(fields.get('one_key_in'));
  const firstLines = wholeNumber(fields.get('first_lines'));
  if (oneKeyIn !== null) {
    return { oneKeyIn };
  }
  return firstLines !== null ? { firstLines } : 'all';
}

function keyPart(fields: URLSearchParams): KeyPart {
  const numbers = (fields.get('field') ?? '').split(',').map(Number);
  const json = fields.get('json_key');
  const regex = fields.get('key_regex');
  if (numbers.every((number) => Number.isInteger(number) && number > 0)) {
    return { fields: { numbers, delimiter: fields.get('delimiter') } };
  }
  if (json !== null) {
    return { json };
  }
  return regex !== null ? { regex } : 'line';
}

function wholeNumber(text: string | null): number | null {
  const number = nonNegativeNumber(text);
  return number !== null && Number.isSafeInteger(number) ? number : null;
}

function share(text: string | null): number | null {
  const number = nonNegativeNumber(text);
  return number !== null && number <= 1 ? number : null;
}

/** A number from 0; null if the text is something else. */
function nonNegativeNumber(text: string | null): number | null {
  const number = Number(text ?? NaN);
  return Number.isFinite(number) && number >= 0 ? number : null;
}
