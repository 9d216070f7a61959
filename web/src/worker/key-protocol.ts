// Messages between the worker of a run and the worker that finds its keys.

import type { EngineKind, LogSource } from '../engine/settings.js';
import type { LineProfile } from '../wasm/dedupstore_wasm.js';

export type ToKeyWorker =
  /** The first message. */
  | { kind: 'prepare'; engine: EngineKind }
  /** Opens a log, in place of the one before. */
  | { kind: 'open'; run: number; request: KeyRequest }
  /** Asks for at least this many lines, or for all that are left. */
  | { kind: 'next'; lines: number };

export type FromKeyWorker =
  | { kind: 'batch'; run: number; batch: KeyBatch }
  /** Nothing works after a trap. */
  | { kind: 'failed'; run: number; message: string; isTrap: boolean };

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
  /** The memory of the engine. */
  engineBytes: number;
}
