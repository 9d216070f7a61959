// The page's choice of key as the engine's, and a look at a log's first lines.

import { KeyChoice, type KeyOffer, shapeOf } from '../wasm/dedupstore_wasm.js';
import type { Examination, KeyPart, KeySpec } from '../protocol.js';
import { headOf } from './chunks.js';
import { copied } from './plain.js';

/** Enough lines to tell what they are and what normalization does. */
const HEAD_BYTES = 512 << 10;
const PREVIEW_ROWS = 6;

/** The caller frees it. */
export function keyChoice({ part, normalize }: KeySpec): KeyChoice {
  const choice = plainChoice(part);
  return normalize ? copied(choice, (choice) => choice.normalized()) : choice;
}

function plainChoice(part: KeyPart): KeyChoice {
  switch (part.kind) {
    case 'line':
      return KeyChoice.wholeLine();
    case 'fields':
      return KeyChoice.fields(Uint32Array.from(part.numbers), part.delimiter ?? undefined);
    case 'json':
      return KeyChoice.json(part.path);
    case 'regex':
      return KeyChoice.pattern(part.expression);
  }
}

export async function examine(log: Blob, name: string, key: KeySpec | null): Promise<Examination> {
  const head = await headOf(log, name, HEAD_BYTES);
  return copied(shapeOf(head), (shape) => {
    const offers = shape.offers.map((offer) => copied(offer, offered));
    const chosen = key ?? { part: offers[0]?.part ?? { kind: 'line' }, normalize: false };
    return copied(keyChoice(chosen), (choice) => ({
      shape: shape.name,
      isText: shape.isText,
      caution: shape.caution ?? null,
      offers,
      key: chosen,
      options: choice.options,
      rows: choice
        .preview(head, PREVIEW_ROWS)
        .map((row) => copied(row, ({ line, key }) => ({ line, key: key ?? null }))),
      merging: merging(choice, head),
    }));
  });
}

function merging(choice: KeyChoice, head: Uint8Array): Examination['merging'] {
  const found = choice.merging(head);
  return found === undefined
    ? null
    : copied(found, ({ lines, distinct, normalized }) => ({ lines, distinct, normalized }));
}

function offered({ label, fields, delimiter, path }: KeyOffer): { label: string; part: KeyPart } {
  if (path !== undefined) {
    return { label, part: { kind: 'json', path } };
  }
  const numbers = Array.from(fields);
  return numbers.length === 0
    ? { label, part: { kind: 'line' } }
    : { label, part: { kind: 'fields', numbers, delimiter: delimiter ?? null } };
}
