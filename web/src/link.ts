// Everything but the data as the part of an address behind the #: nothing of it is sent
// to a server.

import type { KeyPart, KeySpec } from './protocol.js';

export interface LinkedState {
  memoryBits: number | null;
  seed: number | null;
  filters: string[];
  key: KeySpec | null;
  /** A sample's id; other logs stay where they are. */
  sample: string | null;
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
  };
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
  const number = Number(text);
  return text !== null && Number.isSafeInteger(number) && number >= 0 ? number : null;
}
