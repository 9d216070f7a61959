import { listen } from './listen.js';
import type { FromRunWorker, RunRequest, Snapshot, ToRunWorker } from './run-protocol.js';
import type { Pace } from './settings.js';

/** Nothing is reported after `finished` or `failed`. */
export interface RunListener {
  progress(snapshot: Snapshot, isPaused: boolean): void;
  finished(snapshot: Snapshot): void;
  failed(message: string): void;
}

/**
 * A run in its own worker. The worker ends with the run: the engine's memory never shrinks,
 * and its state is undefined after a trap.
 */
export class Run {
  readonly #listener: RunListener;
  #worker: Worker | undefined;

  constructor(request: RunRequest, listener: RunListener) {
    this.#listener = listener;
    this.#worker = new Worker(new URL('../worker/run.worker.ts', import.meta.url), {
      type: 'module',
    });
    listen<FromRunWorker>(
      this.#worker,
      (message) => this.#receive(message),
      (message) => this.#receive({ kind: 'failed', message }),
    );
    this.#post({ kind: 'start', request });
  }

  /** Ends the run at once. Nothing more is reported. */
  cancel(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  setPace(pace: Pace): void {
    this.#post({ kind: 'pace', pace });
  }

  /** Runs this many lines, then pauses. */
  step(lines: number): void {
    this.#post({ kind: 'step', lines });
  }

  #post(message: ToRunWorker): void {
    this.#worker?.postMessage(message);
  }

  #receive(message: FromRunWorker): void {
    // Messages that a worker sent before its end may arrive after it.
    if (this.#worker === undefined) {
      return;
    }
    switch (message.kind) {
      case 'progress':
        this.#listener.progress(message.snapshot, message.isPaused);
        break;
      case 'finished':
        this.cancel();
        this.#listener.finished(message.snapshot);
        break;
      case 'failed':
        this.cancel();
        this.#listener.failed(message.message);
        break;
    }
  }
}
