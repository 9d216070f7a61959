import type { FromRunWorker, RunRequest, Snapshot } from './run-protocol.js';
import { type RunWorker, prepareWorker, takeWorker } from './run-workers.js';
import { type Pace, engineFor } from './settings.js';

/** Nothing is reported after `finished` or `failed`. */
export interface RunListener {
  progress(snapshot: Snapshot, isPaused: boolean): void;
  finished(snapshot: Snapshot): void;
  failed(message: string): void;
}

// The first run starts sooner.
prepareWorker('plain');

/** A run in a worker of its own, which waits for another run afterwards. */
export class Run {
  readonly #listener: RunListener;
  #worker: RunWorker | undefined;

  constructor(request: RunRequest, listener: RunListener) {
    this.#listener = listener;
    this.#worker = takeWorker(engineFor(request.key, request.filters));
    this.#worker.start(request, (message) => this.#receive(message));
  }

  /** Ends the run. Nothing more is reported. */
  cancel(): void {
    this.#worker?.cancel();
    this.#worker = undefined;
  }

  setPace(pace: Pace): void {
    this.#worker?.post({ kind: 'pace', pace });
  }

  /** Runs this many lines, then pauses. */
  step(lines: number): void {
    this.#worker?.post({ kind: 'step', lines });
  }

  #receive(message: FromRunWorker): void {
    switch (message.kind) {
      case 'progress':
        this.#listener.progress(message.snapshot, message.isPaused);
        break;
      case 'finished':
        this.#worker = undefined;
        this.#listener.finished(message.snapshot);
        break;
      case 'failed':
        this.#worker = undefined;
        this.#listener.failed(message.message);
        break;
    }
  }
}
