// What the page and its workers say to each other. Everything here is plain data:
// it crosses between threads by being copied.

import type { CellLook, InsideOrder, InsideState } from './inside/data.js';

export type ToWorker =
  /** Always the first: which engine to load. */
  | { kind: 'begin'; engine: EngineKind }
  | { kind: 'advise'; order: AdviceOrder }
  | { kind: 'run'; order: RunOrder }
  | { kind: 'inside'; order: InsideOrder }
  /** A key to look at, in a filter that is looked into. */
  | { kind: 'pick'; id: string | null }
  /** A cell to look at. */
  | { kind: 'point'; index: number }
  | { kind: 'pace'; pace: Pace }
  | { kind: 'step'; lines: number }
  | { kind: 'ask'; id: number; question: Question };

export type FromWorker =
  | { kind: 'progress'; snapshot: Snapshot; isPaused: boolean }
  | { kind: 'finished'; snapshot: Snapshot }
  | { kind: 'failed'; message: string }
  | { kind: 'inside'; state: InsideState }
  | { kind: 'cell'; cell: CellLook | null }
  /** How much of the log an adviser has read; once it is all, it ponders. */
  | { kind: 'advising'; share: number }
  | { kind: 'advised'; advice: AdviceData }
  | { kind: 'answer'; id: number; answer: Answer }
  | { kind: 'refused'; id: number; message: string };

/**
 * The plain engine is what the page loads first. The complete one also knows regular
 * expressions, the spellings of URLs and stores, which are larger than all the rest.
 */
export type EngineKind = 'plain' | 'complete';

/** How fast a run goes. */
export type Pace =
  | { kind: 'full' }
  | { kind: 'paused' }
  | { kind: 'limited'; linesASecond: number };

/** What the engine is asked apart from runs. */
export type Question =
  | { kind: 'registry' }
  | { kind: 'sample'; sample: SampleSpec }
  | { kind: 'misfits'; entries: Entry[] }
  | { kind: 'examine'; log: Blob; name: string; key: KeySpec | null };

export type Answer =
  | { kind: 'registry'; filters: FilterDescription[] }
  | { kind: 'sample'; log: Blob }
  /** Why each entry cannot run; null for those that can. */
  | { kind: 'misfits'; misfits: (string | null)[] }
  | { kind: 'examine'; examination: Examination };

/** A run: filters side by side over one log. */
export interface RunOrder {
  log: Blob;
  /** What the log is called in messages. */
  name: string;
  key: KeySpec;
  part: LogPart;
  entries: Entry[];
  seed: number;
  pace: Pace;
}

/** A filter in its text form, and its memory. */
export interface Entry {
  filter: string;
  memoryBits: number;
}

/** A log that `dedupstore generate` makes. */
export interface SampleSpec {
  stream: string;
  count: number;
  seed: number;
  form: string;
}

/** Which part of a line is its key. */
export interface KeySpec {
  part: KeyPart;
  /** URLs in one spelling each. */
  normalize: boolean;
}

export type KeyPart =
  | { kind: 'line' }
  /** Fields counted from 1; null stands for blanks between them. */
  | { kind: 'fields'; numbers: number[]; delimiter: string | null }
  | { kind: 'json'; path: string }
  | { kind: 'regex'; expression: string };

export function engineFor({ part, normalize }: KeySpec): EngineKind {
  return normalize || part.kind === 'regex' ? 'complete' : 'plain';
}

/** Which part of a log is read. */
export type LogPart =
  | { kind: 'all' }
  /** Every line of one key in so many, in as much less memory. */
  | { kind: 'keys'; oneIn: number }
  /** The beginning. */
  | { kind: 'lines'; first: number };

/** The first lines of a log, looked at. */
export interface Examination {
  /** What it looks like, in words. */
  shape: string;
  isText: boolean;
  /** What to look out for, if anything. */
  caution: string | null;
  /** Keys to choose from, the likeliest first. */
  offers: { label: string; part: KeyPart }[];
  /** The key that was asked for, or the likeliest. */
  key: KeySpec;
  /** The command line's options for that key, a word each. */
  options: string[];
  rows: { line: string; key: string | null }[];
  /** What one spelling for each URL does; null from an engine that does not know it. */
  merging: { lines: number; distinct: number; normalized: number } | null;
}

/** How far a run has come. */
export interface Snapshot {
  bytes: number;
  totalBytes: number;
  /** Which part of the log this is about. */
  part: LogPart;
  /** One an entry, in the order of the run. */
  outcomes: OutcomeRow[];
  curves: Curves;
  profile: ProfileData;
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
  /** Wrong verdicts of either kind, as a share of all lines. */
  error: Rate;
  load: number;
  /** Null where the browser's clock is too coarse to tell. */
  nsPerObservation: number | null;
  prediction: PredictionRow | null;
}

/** What theory says over the whole log. */
export interface PredictionRow {
  fpr: number;
  fnr: number;
  /** The formula's name and source. */
  by: string;
  trust: string;
  loose: string;
}

/** The four things drawn over the position in the log. */
export type Measure = 'fpr' | 'fnr' | 'error' | 'load';

/** Rates over the log, each over the stretch that ends at its position. */
export interface Curves {
  /** In lines; the same for every filter, for they read the same lines. */
  position: number[];
  filters: { measured: Record<Measure, Rate[]>; predicted: Record<Measure, Rate[]> }[];
  /** The least FPR of any filter in this memory that misses no repeat. */
  bound: Rate[];
}

/** What the log is like, whatever filter runs over it. */
export interface ProfileData {
  count: number;
  /** Lines read, in the part of the log that is looked at or not. */
  read: number;
  distinct: number;
  withoutKey: number;
  /** Powers of two with how many repeats lie so far back, and less than twice as far. */
  gaps: { from: number; count: number }[];
  gapsSampledOneIn: number;
  top: { key: string; count: number }[];
  /** By how much the counts of `top` may be too low. */
  topTooLow: number;
  /** Lines over time; null where lines do not tell it. */
  rate: RateData | null;
}

/** Lines in spans of time, one after the other. */
export interface RateData {
  /** When the first begins, since 1970. */
  fromSeconds: number;
  widthSeconds: number;
  counts: number[];
}

/** What an adviser is asked. */
export interface AdviceOrder {
  log: Blob;
  name: string;
  key: KeySpec;
  part: LogPart;
  wish: Wish;
}

/** A memory, and what can be borne. Shares, not percentages; null leaves it open. */
export interface Wish {
  memoryBits: number;
  maxFpr: number | null;
  maxFnr: number | null;
  costFp: number;
  costFn: number;
  prefer: Preference;
}

/** In the command line's words. */
export type Preference = 'balanced' | 'no-drops' | 'no-repeats';

/** What an adviser answers. */
export interface AdviceData {
  /** The choice, and after it the runners-up, best first. */
  estimates: EstimateRow[];
  keepsBounds: boolean;
  /** Why, in a clause. */
  reason: string;
  papers: string | null;
  /** How sure it is, in a clause. */
  sureness: string;
  /** Over how many lines filters were tried; null if theory was asked instead. */
  observations: number | null;
  distinct: number;
  leastFpr: number | null;
}

export interface EstimateRow {
  filter: string;
  fpr: number;
  fnr: number;
  /** What its errors cost a line. */
  cost: number;
}

/** An entry of the engine's registry. */
export interface FilterDescription {
  name: string;
  title: string;
  summary: string;
  promise: string;
  chooseWhen: string;
  errs: string;
  /** A few cells before and after a new key comes, a character each, and what happened. */
  drawing: { before: string[]; after: string[]; caption: string };
  parameters: ParameterDescription[];
}

export interface ParameterDescription {
  name: string;
  meaning: string;
  defaultValue: string;
  /** Values worth trying side by side. */
  tried: string[];
  allowed:
    | { kind: 'number'; min: number; max: number; step: number }
    | { kind: 'choice'; options: string[] };
}
