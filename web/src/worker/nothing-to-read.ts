import type { LogPart } from '../protocol.js';

/** A log without a single key to look at. */
export class NothingToRead extends Error {
  constructor({ name, part }: { name: string; part: LogPart }, withoutKey: number) {
    if (withoutKey > 0) {
      super(`No line of ${name} has such a key: choose another.`);
    } else if (part.kind === 'keys') {
      super(`No key of ${name} is in the sample: take more than one key in ${part.oneIn}.`);
    } else {
      super(`${name} is empty: there is no line to run the filters over.`);
    }
  }
}
