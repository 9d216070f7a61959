// Settings that several workers need. They are plain data, copied between threads.

import type { KeySpec, LogPart } from '../wasm/dedupstore_wasm.js';

/**
 * The page loads the plain engine first. The complete engine also has regular expressions,
 * URL normalization and stores, which are larger than the rest.
 */
export type EngineKind = 'plain' | 'complete';

export function engineFor({ part, normalize }: KeySpec): EngineKind {
  const isRegex = typeof part === 'object' && 'regex' in part;
  return normalize || isRegex ? 'complete' : 'plain';
}

/** A log, and which keys of it are read. */
export interface LogSource {
  log: Blob;
  /** The log's name in messages. */
  name: string;
  key: KeySpec;
  part: LogPart;
}

/** A filter in its text form, and its memory. */
export interface FilterSetting {
  filter: string;
  memoryBits: number;
}

/** The speed of a run. */
export type Pace =
  | { kind: 'full' }
  | { kind: 'paused' }
  | { kind: 'limited'; linesPerSecond: number };
