// What the page and the worker say to each other. Everything here is plain data:
// it crosses between threads by being copied.

export type ToWorker = { kind: 'run'; order: RunOrder };

export type FromWorker =
  | { kind: 'ready'; filters: FilterDescription[] }
  | { kind: 'progress'; snapshot: Snapshot }
  | { kind: 'finished'; snapshot: Snapshot }
  | { kind: 'failed'; message: string };

/** A run: filters side by side over one log, each in the same memory. */
export interface RunOrder {
  log: Blob;
  /** What the log is called in messages. */
  name: string;
  /** Filters in their text form. */
  filters: string[];
  memoryBits: number;
  seed: number;
}

/** How far a run has come. */
export interface Snapshot {
  bytes: number;
  totalBytes: number;
  /** One a filter, in the order of the run. */
  outcomes: OutcomeRow[];
  curves: Curves;
}

/** A rate of nothing is no rate: null. */
export type Rate = number | null;

export interface OutcomeRow {
  filter: string;
  memoryBits: number;
  count: number;
  distinct: number;
  repeats: number;
  falsePositives: number;
  falseNegatives: number;
  fpr: Rate;
  fnr: Rate;
  load: number;
  /** Null where the browser's clock is too coarse to tell. */
  nsPerObservation: number | null;
}

/** Rates over the log, each over the stretch that ends at its position. */
export interface Curves {
  /** In lines; the same for every filter, for they read the same lines. */
  position: number[];
  filters: { fpr: Rate[]; fnr: Rate[] }[];
}

/** An entry of the engine's registry. */
export interface FilterDescription {
  name: string;
  title: string;
  summary: string;
  promise: string;
  chooseWhen: string;
  errs: string;
  parameters: ParameterDescription[];
}

export interface ParameterDescription {
  name: string;
  meaning: string;
  defaultValue: string;
  allowed:
    | { kind: 'number'; min: number; max: number; step: number }
    | { kind: 'choice'; options: string[] };
}
