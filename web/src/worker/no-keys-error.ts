import type { LogPart } from '../wasm/dedupstore_wasm.js';

/** The part of the log that was read has no key. */
export class NoKeysError extends Error {
  constructor({ name, part }: { name: string; part: LogPart }, linesWithoutKey: number) {
    if (linesWithoutKey > 0) {
      super(`No line of ${name} has this key: choose another key.`);
    } else if (typeof part === 'object' && 'oneKeyIn' in part) {
      super(`No key of ${name} is in the sample: read more than one key in ${part.oneKeyIn}.`);
    } else {
      super(`${name} is empty: there are no lines to run.`);
    }
  }
}
