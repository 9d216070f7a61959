// Messages between the page and the worker that gives advice.

import type { LogSource } from '../engine/settings.js';
import type { Advice, AdviceRequirements } from '../wasm/dedupstore_wasm.js';

/** The only message to the worker. */
export interface AdviceRequest extends LogSource {
  requirements: AdviceRequirements;
}

/** `advised` and `failed` are last messages. */
export type FromAdviceWorker =
  /** The share of the log that was read; 1 while filters are tried. */
  | { kind: 'progress'; share: number }
  | { kind: 'advised'; advice: Advice }
  | { kind: 'failed'; message: string };
