// One log under many settings at once, shared out among several workers.

import { Run } from './engine.js';
import type { Entry, OutcomeRow, RunOrder } from './protocol.js';

/** More would only wait for each other's memory. */
const MOST_WORKERS = 4;

export interface SweepListener {
  progress(share: number): void;
  /** The outcomes in the order of the entries. */
  finished(outcomes: OutcomeRow[]): void;
  failed(message: string): void;
}

export class Sweep {
  readonly #runs: Run[] = [];

  constructor(order: Omit<RunOrder, 'entries' | 'pace'>, entries: Entry[], listener: SweepListener) {
    const workers = Math.min(MOST_WORKERS, navigator.hardwareConcurrency || 1, entries.length);
    const found: (OutcomeRow | undefined)[] = entries.map(() => undefined);
    const shares: number[] = Array(workers).fill(0);
    for (let worker = 0; worker < workers; worker += 1) {
      // Dealt out like cards, so that each gets its part of the slow ones.
      const places = entries.flatMap((_, place) => (place % workers === worker ? [place] : []));
      const mine = places.flatMap((place) => entries[place] ?? []);
      const tell = (share: number) => {
        shares[worker] = share;
        listener.progress(shares.reduce((sum, share) => sum + share, 0) / workers);
      };
      const run = new Run(
        { ...order, entries: mine, pace: { kind: 'full' } },
        {
          progress: ({ bytes, totalBytes }) => tell(totalBytes > 0 ? bytes / totalBytes : 0),
          finished: ({ outcomes }) => {
            places.forEach((place, index) => {
              found[place] = outcomes[index];
            });
            tell(1);
            const all = found.filter((row) => row !== undefined);
            if (all.length === entries.length) {
              listener.finished(all);
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
