// Messages between the page and the worker for stores.

import type { FilterSetting, LogFiles } from '../engine/settings.js';
import type { KeySpec } from '../wasm/dedupstore_wasm.js';

/** The only message to the worker. */
export type StoreRequest =
  | { kind: 'build'; request: BuildRequest }
  | { kind: 'inspect'; store: StoreFiles };

/** All but `building` are last messages. */
export type FromStoreWorker =
  /** The share of the log that the store has observed. */
  | { kind: 'building'; share: number }
  | { kind: 'built'; tar: Blob }
  | { kind: 'inspected'; report: string }
  | { kind: 'failed'; message: string };

/** A store that observes a log. */
export interface BuildRequest extends FilterSetting {
  /** The name of its directory. */
  name: string;
  log: LogFiles;
  key: KeySpec;
  seed: number;
}

/** The files of a store that the user chose. */
export type StoreFiles =
  | { kind: 'tar'; name: string; content: Blob }
  | { kind: 'files'; name: string; files: { name: string; content: Blob }[] };
