// Runs many settings on one log, divided among several workers.

import type { RunRequest } from '../engine/run-protocol.js';
import { Run } from '../engine/run.js';
import type { FilterSetting } from '../engine/settings.js';
import type { Outcome } from '../wasm/dedupstore_wasm.js';

/** More workers would compete for the memory bandwidth. */
const MAX_WORKERS = 4;

export interface SweepListener {
  progress(share: number): void;
  /** The outcomes, in the order of the settings. */
  finished(outcomes: Outcome[]): void;
  failed(message: string): void;
}

export class Sweep {
  readonly #runs: Run[] = [];

  constructor(
    request: Omit<RunRequest, 'filters' | 'pace'>,
    settings: FilterSetting[],
    listener: SweepListener,
  ) {
    const workers = Math.min(MAX_WORKERS, navigator.hardwareConcurrency || 1, settings.length);
    const outcomes: (Outcome | undefined)[] = settings.map(() => undefined);
    const shares: number[] = Array(workers).fill(0);
    for (let worker = 0; worker < workers; worker += 1) {
      // In turn, so that each worker gets its share of the slow settings.
      const indices = settings.flatMap((_, index) => (index % workers === worker ? [index] : []));
      const filters = indices.flatMap((index) => settings[index] ?? []);
      const reportShare = (share: number) => {
        shares[worker] = share;
        listener.progress(shares.reduce((sum, share) => sum + share, 0) / workers);
      };
      const run = new Run(
        { ...request, filters, pace: { kind: 'full' } },
        {
          progress: ({ readBytes, totalBytes }) =>
            reportShare(totalBytes > 0 ? readBytes / totalBytes : 0),
          finished: (snapshot) => {
            indices.forEach((index, place) => {
              outcomes[index] = snapshot.outcomes[place];
            });
            reportShare(1);
            const complete = outcomes.filter((outcome) => outcome !== undefined);
            if (complete.length === settings.length) {
              listener.finished(complete);
            }
          },
          failed: (message) => {
            this.cancel();
            listener.failed(message);
          },
        },
      );
      this.#runs.push(run);
    }
  }

  cancel(): void {
    this.#runs.forEach((run) => run.cancel());
  }
}
