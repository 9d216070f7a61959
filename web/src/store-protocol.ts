// What the page and the worker for stores say to each other: plain data.

import type { KeySpec } from './protocol.js';

/** One order a worker. */
export type ToStoreWorker =
  | { kind: 'prime'; order: StoreOrder }
  | { kind: 'look'; store: GivenStore };

export type FromStoreWorker =
  /** How much of the log the store has met. */
  | { kind: 'priming'; share: number }
  | { kind: 'primed'; tar: Blob }
  | { kind: 'looked'; report: string }
  | { kind: 'refused'; message: string };

/** A store that is to have met a log. */
export interface StoreOrder {
  /** What its directory is called. */
  name: string;
  log: Blob;
  logName: string;
  key: KeySpec;
  filter: string;
  memoryBits: number;
  seed: number;
}

/** A store that somebody gave to the page. */
export type GivenStore =
  | { kind: 'tar'; name: string; content: Blob }
  | { kind: 'files'; name: string; files: { name: string; content: Blob }[] };
