// Messages between the page and a worker that answers queries.

import type { FilterDescription, KeySpec, LogExamination, LogPart } from '../wasm/dedupstore_wasm.js';
import type { EngineKind, FilterSetting } from './settings.js';

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
  /** Without a key, the most likely one is used. */
  | { kind: 'examine'; log: Blob; name: string; key: KeySpec | null };

export type Answer =
  | { kind: 'filters'; filters: FilterDescription[] }
  | { kind: 'generate'; log: Blob }
  /** Why each setting is impossible; null if it is possible. */
  | { kind: 'checkSettings'; errors: (string | null)[] }
  | { kind: 'examine'; examination: LogExamination };

/** The arguments of `dedupstore generate`. */
export interface SampleSpec {
  stream: string;
  count: number;
  seed: number;
  form: string;
}
