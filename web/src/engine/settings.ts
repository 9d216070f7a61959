// Settings that several workers need. They are plain data, copied between threads.

import type { KeySpec, LogPart } from '../wasm/dedupstore_wasm.js';

/**
 * The page loads the plain engine first. The complete engine also has regular expressions,
 * URL normalization, importance, stores and all filters, which are larger than the rest.
 */
export type EngineKind = 'plain' | 'complete';

/** The filters that only the complete engine has. */
const ONLY_COMPLETE = /^(quotient|growing|stamped|apbf|ibf[1-6]?|reinsert|admit)(:|$)/;

/** Returns the engine for keys and, if any are given, for filters. */
export function engineFor(
  { part, normalize, importance }: KeySpec,
  filters: readonly { filter: string }[] = [],
): EngineKind {
  const isRegex = typeof part === 'object' && 'regex' in part;
  const isOther = filters.some(({ filter }) => ONLY_COMPLETE.test(filter));
  return normalize || isRegex || isOther || importance !== null ? 'complete' : 'plain';
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
