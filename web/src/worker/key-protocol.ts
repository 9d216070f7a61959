// What a run and the worker that finds its keys say to each other: plain data.

import type { ProfileData, RunOrder } from '../protocol.js';

export type ToKeyWorker =
  /** Once, before any is asked for. */
  | { kind: 'keys'; order: KeyOrder }
  /** The keys of so many lines more, or of a few beyond; of all that is left if it is less. */
  | { kind: 'more'; lines: number };

export type FromKeyWorker = { kind: 'keys'; batch: KeyBatch } | { kind: 'failed'; message: string };

export type KeyOrder = Pick<RunOrder, 'log' | 'name' | 'key' | 'part' | 'seed'>;

/** What only the lines of a log can tell. */
export type LineProfile = Pick<ProfileData, 'read' | 'withoutKey' | 'top' | 'topTooLow' | 'rate'>;

export interface KeyBatch {
  fingerprints: BigUint64Array<ArrayBuffer>;
  /** Whether each comes for the first time: 1 or 0. */
  first: Uint8Array<ArrayBuffer>;
  /** How much of the file has been read, packed or not. */
  readBytes: number;
  /** Nothing where there is a newer one soon. */
  profile: LineProfile | null;
  /** After it there is nothing more. */
  isLast: boolean;
}
