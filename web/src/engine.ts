// The page's end of the engine: one worker, a fresh one for every run.

import type { FilterDescription, FromWorker, RunOrder, Snapshot, ToWorker } from './protocol.js';

/** What a run reports. After `finished` or `failed` there is nothing more. */
export interface RunListener {
  progress(snapshot: Snapshot): void;
  finished(snapshot: Snapshot): void;
  failed(message: string): void;
}

export interface EngineListener {
  ready(filters: FilterDescription[]): void;
  failed(message: string): void;
}

/**
 * Starts and ends runs. A worker is replaced after each run, however it ended: the
 * engine's memory never shrinks, and after a trap it cannot be trusted.
 */
export class Engine {
  readonly #listener: EngineListener;
  #worker: Worker;
  #run: RunListener | undefined;
  #introduced = false;

  constructor(listener: EngineListener) {
    this.#listener = listener;
    this.#worker = this.#newWorker();
  }

  /** Starts a run; one under way is cancelled. */
  start(order: RunOrder, run: RunListener): void {
    this.cancel();
    this.#run = run;
    const message: ToWorker = { kind: 'run', order };
    this.#worker.postMessage(message);
  }

  /** Ends the run at once, if there is one. It reports nothing more. */
  cancel(): void {
    if (this.#run !== undefined) {
      this.#replaceWorker();
    }
  }

  #newWorker(): Worker {
    const worker = new Worker(new URL('./worker/worker.ts', import.meta.url), { type: 'module' });
    // What an ended worker had said before its end may still arrive.
    const hear = (message: FromWorker) => {
      if (worker === this.#worker) {
        this.#hear(message);
      }
    };
    worker.onmessage = (event: MessageEvent<FromWorker>) => hear(event.data);
    worker.onerror = (event) => {
      event.preventDefault();
      const reason = event.message || 'its script did not load';
      hear({ kind: 'failed', message: `The engine could not be started: ${reason}.` });
    };
    return worker;
  }

  #replaceWorker(): void {
    this.#run = undefined;
    this.#worker.terminate();
    this.#worker = this.#newWorker();
  }

  #hear(message: FromWorker): void {
    const run = this.#run;
    switch (message.kind) {
      case 'ready':
        if (!this.#introduced) {
          this.#introduced = true;
          this.#listener.ready(message.filters);
        }
        break;
      case 'progress':
        run?.progress(message.snapshot);
        break;
      case 'finished':
        this.#replaceWorker();
        run?.finished(message.snapshot);
        break;
      case 'failed':
        if (run === undefined) {
          this.#listener.failed(message.message);
        } else {
          this.#replaceWorker();
          run.failed(message.message);
        }
        break;
    }
  }
}
