// Everything but the data as the part of an address behind the #: nothing of it is sent
// to a server.

import type { KeyPart, KeySpec, LogPart } from './protocol.js';
import type { Bearable } from './wish-input.js';

const PREFERENCES = ['balanced', 'no-drops', 'no-repeats'] as const;

export interface LinkedState {
  memoryBits: number | null;
  seed: number | null;
  filters: string[];
  key: KeySpec | null;
  /** A sample's id; other logs stay where they are. */
  sample: string | null;
  part: LogPart;
  wish: Bearable;
}

export function writeLink(address: string, state: LinkedState): string {
  const fields = new URLSearchParams();
  const put = (name: string, value: string | number | null) => {
    if (value !== null) {
      fields.append(name, String(value));
    }
  };
  put('memory_bits', state.memoryBits);
  put('seed', state.seed);
  state.filters.forEach((filter) => put('filter', filter));
  put('sample', state.sample);
  put('one_key_in', state.part.kind === 'keys' ? state.part.oneIn : null);
  put('first_lines', state.part.kind === 'lines' ? state.part.first : null);
  putWish(state.wish, put);
  if (state.key !== null) {
    const { part, normalize } = state.key;
    switch (part.kind) {
      case 'fields':
        put('field', part.numbers.join(','));
        put('delimiter', part.delimiter);
        break;
      case 'json':
        put('json_key', part.path);
        break;
      case 'regex':
        put('key_regex', part.expression);
        break;
      case 'line':
        break;
    }
    put('normalize', normalize ? 'whatwg' : null);
  }
  return `${address.split('#')[0]}#${fields}`;
}

/** What is not at its default. */
function putWish(
  { maxFpr, maxFnr, costFp, costFn, prefer }: Bearable,
  put: (name: string, value: string | number | null) => void,
): void {
  put('max_fpr', maxFpr);
  put('max_fnr', maxFnr);
  put('cost_fp', costFp === 1 ? null : costFp);
  put('cost_fn', costFn === 1 ? null : costFn);
  put('prefer', prefer === 'balanced' ? null : prefer);
}

/** Nothing if the address has no such part. */
export function readLink(address: string): LinkedState | null {
  const fields = new URLSearchParams(address.split('#')[1] ?? '');
  if ([...fields].length === 0) {
    return null;
  }
  return {
    memoryBits: whole(fields.get('memory_bits')),
    seed: whole(fields.get('seed')),
    filters: fields.getAll('filter'),
    key: { part: keyPart(fields), normalize: fields.get('normalize') === 'whatwg' },
    sample: fields.get('sample'),
    part: logPart(fields),
    wish: {
      maxFpr: share(fields.get('max_fpr')),
      maxFnr: share(fields.get('max_fnr')),
      costFp: number(fields.get('cost_fp')) ?? 1,
      costFn: number(fields.get('cost_fn')) ?? 1,
      prefer: PREFERENCES.find((word) => word === fields.get('prefer')) ?? 'balanced',
    },
  };
}

function logPart(fields: URLSearchParams): LogPart {
  const [oneIn, first] = [whole(fields.get('one_key_in')), whole(fields.get('first_lines'))];
  if (oneIn !== null) {
    return { kind: 'keys', oneIn };
  }
  return first !== null ? { kind: 'lines', first } : { kind: 'all' };
}

function keyPart(fields: URLSearchParams): KeyPart {
  const numbers = (fields.get('field') ?? '').split(',').map(Number);
  const path = fields.get('json_key');
  const expression = fields.get('key_regex');
  if (numbers.every((number) => Number.isInteger(number) && number > 0)) {
    return { kind: 'fields', numbers, delimiter: fields.get('delimiter') };
  }
  if (path !== null) {
    return { kind: 'json', path };
  }
  return expression !== null ? { kind: 'regex', expression } : { kind: 'line' };
}

function whole(text: string | null): number | null {
  const found = number(text);
  return found !== null && Number.isSafeInteger(found) ? found : null;
}

function share(text: string | null): number | null {
  const found = number(text);
  return found !== null && found <= 1 ? found : null;
}

/** A number from 0. */
function number(text: string | null): number | null {
  const found = Number(text ?? NaN);
  return Number.isFinite(found) && found >= 0 ? found : null;
}
