// Runs many settings on one log, divided among several workers. A setting that fails is skipped.

import type { RunRequest } from '../engine/run-protocol.js';
import { Run } from '../engine/run.js';
import type { FilterSetting } from '../engine/settings.js';
import type { Outcome } from '../wasm/dedupstore_wasm.js';

/** More workers would compete for the memory bandwidth. */
const MAX_WORKERS = 4;

/** The outcome of a setting, or why it has none. */
export type SweepResult = { outcome: Outcome } | { error: string };

export interface SweepListener {
  progress(share: number): void;
  /** The results, in the order of the settings. */
  finished(results: SweepResult[]): void;
}

export class Sweep {
  readonly #request: Omit<RunRequest, 'filters' | 'pace'>;
  readonly #settings: FilterSetting[];
  readonly #listener: SweepListener;
  readonly #results: (SweepResult | undefined)[];
  readonly #runs = new Set<Run>();
  /** The share of the log that each run has read, for each of its settings. */
  readonly #shares: number[];

  constructor(
    request: Omit<RunRequest, 'filters' | 'pace'>,
    settings: FilterSetting[],
    listener: SweepListener,
  ) {
    this.#request = request;
    this.#settings = settings;
    this.#listener = listener;
    this.#results = settings.map(() => undefined);
    this.#shares = settings.map(() => 0);
    const workers = Math.min(MAX_WORKERS, navigator.hardwareConcurrency || 1, settings.length);
    for (let worker = 0; worker < workers; worker += 1) {
      // In turn, so that each worker gets its share of the slow settings.
      this.#run(settings.flatMap((_, index) => (index % workers === worker ? [index] : [])));
    }
  }

  cancel(): void {
    this.#runs.forEach((run) => run.cancel());
    this.#runs.clear();
  }

  #run(indices: number[]): void {
    const filters = indices.flatMap((index) => this.#settings[index] ?? []);
    const run = new Run(
      { ...this.#request, filters, pace: { kind: 'full' } },
      {
        progress: ({ readBytes, totalBytes }) =>
          this.#setShare(indices, totalBytes > 0 ? readBytes / totalBytes : 0),
        finished: (snapshot) => {
          this.#runs.delete(run);
          indices.forEach((index, place) => {
            const outcome = snapshot.outcomes[place];
            this.#results[index] = outcome === undefined ? { error: 'no result' } : { outcome };
          });
          this.#setShare(indices, 1);
          this.#finishIfComplete();
        },
        failed: (message) => {
          this.#runs.delete(run);
          this.#divide(indices, message);
        },
      },
    );
    this.#runs.add(run);
  }

  /** Runs both halves of settings of which one failed, to find that one. */
  #divide(indices: number[], message: string): void {
    const [only] = indices;
    if (indices.length === 1 && only !== undefined) {
      this.#results[only] = { error: message };
      this.#finishIfComplete();
      return;
    }
    const middle = Math.ceil(indices.length / 2);
    this.#run(indices.slice(0, middle));
    this.#run(indices.slice(middle));
  }

  #setShare(indices: number[], share: number): void {
    indices.forEach((index) => {
      this.#shares[index] = share;
    });
    const sum = this.#shares.reduce((sum, share) => sum + share, 0);
    this.#listener.progress(sum / this.#shares.length);
  }

  #finishIfComplete(): void {
    const complete = this.#results.filter((result) => result !== undefined);
    if (complete.length === this.#settings.length) {
      this.#listener.finished(complete);
    }
  }
}
