// Messages between the page and the worker of a run.

import type { LineProfile, LogPart, RunResults, WeightedOutcome } from '../wasm/dedupstore_wasm.js';
import type { EngineKind, FilterSetting, LogSource, Pace } from './settings.js';

export type ToRunWorker =
  /** The first message: loads the engine, so that runs start sooner. */
  | { kind: 'prepare'; engine: EngineKind }
  /** Starts a run. The one before has ended. */
  | { kind: 'start'; request: RunRequest }
  | { kind: 'cancel' }
  | { kind: 'pace'; pace: Pace }
  /** Run this many lines, then pause. */
  | { kind: 'step'; lines: number };

/** `ended` is the last message of a run. */
export type FromRunWorker =
  | { kind: 'progress'; snapshot: Snapshot; isPaused: boolean }
  | { kind: 'finished'; snapshot: Snapshot }
  | { kind: 'failed'; message: string }
  /** Not reusable after a trap, or if the engine keeps much memory. */
  | { kind: 'ended'; isReusable: boolean };

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
