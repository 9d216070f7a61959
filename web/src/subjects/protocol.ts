// Messages between the page and the worker that reads a log for a subject.

import type { LogSource } from '../engine/settings.js';
import type { Subject, SubjectResult } from '../wasm/dedupstore_wasm.js';

export interface SubjectRequest extends LogSource {
  seed: number;
  memoryBits: number;
  subject: Subject;
}

/** A run ends when a later one has been requested. */
export interface ToSubjectWorker {
  id: number;
  request: SubjectRequest;
}

export type FromSubjectWorker =
  /** The share of the log that was read. */
  | { kind: 'reading'; id: number; share: number }
  | { kind: 'finished'; id: number; result: SubjectResult }
  | { kind: 'failed'; id: number; message: string };
