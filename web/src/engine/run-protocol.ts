// Messages between the page and the worker of a run.

import type { LineProfile, LogPart, RunResults, WeightedOutcome } from '../wasm/dedupstore_wasm.js';
import type { FilterSetting, LogSource, Pace } from './settings.js';

export type ToRunWorker =
  /** The first message. */
  | { kind: 'start'; request: RunRequest }
  | { kind: 'pace'; pace: Pace }
  /** Run this many lines, then pause. */
  | { kind: 'step'; lines: number };

/** `finished` and `failed` are last messages. */
export type FromRunWorker =
  | { kind: 'progress'; snapshot: Snapshot; isPaused: boolean }
  | { kind: 'finished'; snapshot: Snapshot }
  | { kind: 'failed'; message: string };

/** A run of several filters over one log. */
export interface RunRequest extends LogSource {
  filters: FilterSetting[];
  seed: number;
  pace: Pace;
}

/** The results of a run so far. */
export interface Snapshot extends RunResults {
  readBytes: number;
  totalBytes: number;
  /** The part of the log that the results are about. */
  part: LogPart;
  lineProfile: LineProfile;
  /** One per filter; empty if lines have no importance. */
  weighted: WeightedOutcome[];
}
