// Messages between the page and a worker that answers queries.

import type {
  CalculatedFilter,
  CalculatorInput,
  FilterDescription,
  KeySpec,
  LogExamination,
  LogPart,
} from '../wasm/dedupstore_wasm.js';
import type { EngineKind, FilterSetting, LogFiles } from './settings.js';

export type ToQueryWorker =
  /** The first message. */
  | { kind: 'start'; engine: EngineKind }
  | { kind: 'query'; id: number; query: Query };

export type FromQueryWorker =
  | { kind: 'answer'; id: number; answer: Answer }
  | { kind: 'failed'; id: number; message: string };

export type Query =
  | { kind: 'filters' }
  | { kind: 'generate'; sample: SampleSpec }
  | { kind: 'checkSettings'; settings: FilterSetting[]; part: LogPart }
  /** The names of the filters of the calculator. */
  | { kind: 'calculatedFilters' }
  /** Two of keys, memory and error rate give the third. */
  | { kind: 'calculate'; filters: string[]; given: CalculatorInput }
  /** Without a key, the most likely one is used. */
  | { kind: 'examine'; log: LogFiles; key: KeySpec | null };

export type Answer =
  | { kind: 'filters'; filters: FilterDescription[] }
  | { kind: 'calculatedFilters'; filters: string[] }
  | { kind: 'calculate'; results: CalculatorResult[] }
  | { kind: 'generate'; log: Blob }
  /** Why each setting is impossible; null if it is possible. */
  | { kind: 'checkSettings'; errors: (string | null)[] }
  | { kind: 'examine'; examination: LogExamination; logError: null }
  /** The log cannot be read. */
  | { kind: 'examine'; examination: null; logError: string };

/** A filter of the calculator, or why it has no answer. */
export type CalculatorResult =
  | { name: string; calculated: CalculatedFilter; error: null }
  | { name: string; calculated: null; error: string };

/** The arguments of `dedupstore generate`. */
export interface SampleSpec {
  stream: string;
  count: number;
  seed: number;
  form: string;
}
