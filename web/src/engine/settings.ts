// Settings that several workers need. They are plain data, copied between threads.

import type { KeySpec, LogPart } from '../wasm/dedupstore_wasm.js';

/**
 * The page loads the plain engine first. The complete engine also has regular expressions,
 * URL normalization, importance, stores and all other filters, which are larger than the rest.
 */
export type EngineKind = 'plain' | 'complete';

/** A worker asks the page for a compiled engine. */
export interface EngineWanted {
  kind: 'engineWanted';
  engine: EngineKind;
}

/** The answer. */
export type EngineModule =
  | { kind: 'engine'; engine: EngineKind; module: WebAssembly.Module }
  | { kind: 'engineFailed'; engine: EngineKind; message: string };

/** The filters of the plain engine, which the page compares at first: one of each kind. */
export const FIRST_FILTERS: readonly string[] = ['bloom', 'stable', 'rlbsbf', 'blocked', 'word'];

/** Returns the engine for keys and, if any are given, for filters. */
export function engineFor(
  { part, normalize, importance }: KeySpec,
  filters: readonly { filter: string }[] = [],
): EngineKind {
  const isRegex = typeof part === 'object' && 'regex' in part;
  const isOther = filters.some(({ filter }) => !FIRST_FILTERS.includes(filter.split(':')[0] ?? ''));
  return normalize || isRegex || isOther || importance !== null ? 'complete' : 'plain';
}

/** A file of a log. */
export interface LogFile {
  name: string;
  content: Blob;
}

/** The files of a log, in the order in which they are read. */
export type LogFiles = readonly LogFile[];

/** The size of a log as it is stored. */
export function sizeOf(log: LogFiles): number {
  return log.reduce((sum, { content }) => sum + content.size, 0);
}

/** A log, and which keys of it are read. */
export interface LogSource {
  log: LogFiles;
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
