// Messages between the page and the worker that finds memory for filters on a log.

import type { EngineKind, LogSource } from '../engine/settings.js';
import type { EnoughMemory } from '../wasm/dedupstore_wasm.js';

/** A log whose keys are read for searches. */
export interface SearchedLog extends LogSource {
  seed: number;
}

export interface MemorySearch {
  filters: string[];
  /** The share of lines with a wrong verdict. */
  maxError: number;
}

export interface FoundMemory {
  /** The filter's text form. */
  filter: string;
  /** The filter's name for people. */
  name: string;
  /** Null if no memory is enough. */
  memory: EnoughMemory | null;
  /** The search used one key in this many. */
  oneKeyIn: number;
}

export type ToMemoryWorker =
  /** Opens a log, in place of the one before. */
  | { kind: 'open'; engine: EngineKind; log: SearchedLog }
  | { kind: 'search'; id: number; search: MemorySearch };

export type FromMemoryWorker =
  /** The share of the log that was read. */
  | { kind: 'reading'; share: number }
  | { kind: 'found'; id: number; found: FoundMemory }
  | { kind: 'finished'; id: number }
  | { kind: 'failed'; id: number; message: string };
