// Messages between the worker of a run and the worker that finds its keys.

import type { LogSource } from '../engine/settings.js';
import type { LineProfile } from '../wasm/dedupstore_wasm.js';

export type ToKeyWorker =
  /** The first message. */
  | { kind: 'start'; request: KeyRequest }
  /** Asks for at least this many lines, or for all that are left. */
  | { kind: 'next'; lines: number };

export type FromKeyWorker =
  | { kind: 'batch'; batch: KeyBatch }
  | { kind: 'failed'; message: string };

export interface KeyRequest extends LogSource {
  seed: number;
}

export interface KeyBatch {
  fingerprints: BigUint64Array<ArrayBuffer>;
  /** 1 per first occurrence, 0 per repeat. */
  first: Uint8Array<ArrayBuffer>;
  /** Empty if lines have none. */
  importance: Uint16Array<ArrayBuffer>;
  /** The bytes of the file read so far, before decompression. */
  readBytes: number;
  /** Null if the previous profile is recent. */
  profile: LineProfile | null;
  isLast: boolean;
}
