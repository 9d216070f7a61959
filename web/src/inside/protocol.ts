// Messages between the page and the worker of "Look inside".

import type { FilterSetting, LogSource, Pace } from '../engine/settings.js';
import type { CellDetails, WatchedState } from '../wasm/dedupstore_wasm.js';

export type ToInsideWorker =
  /** The first message. */
  | { kind: 'start'; request: InsideRequest }
  | { kind: 'pace'; pace: Pace }
  /** Run this many lines, then pause. */
  | { kind: 'step'; lines: number }
  /** Shows the cells of a key from now on; null for no key. */
  | { kind: 'selectKey'; id: string | null }
  | { kind: 'describeCell'; index: number };

/** `failed` is a last message. */
export type FromInsideWorker =
  | { kind: 'state'; state: InsideState }
  | { kind: 'cell'; cell: CellDetails | null }
  | { kind: 'failed'; message: string };

export interface InsideRequest extends LogSource, FilterSetting {
  seed: number;
  pace: Pace;
  /** The shortest time between two states. */
  stateMilliseconds: number;
}

export interface InsideState extends WatchedState {
  isPaused: boolean;
  /** Whether the end of the log has been reached. */
  isFinished: boolean;
  /** The position of the previous state. */
  previousPosition: number;
}
