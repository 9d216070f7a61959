import { listen } from '../engine/listen.js';
import type { Pace } from '../engine/settings.js';
import type { CellDetails } from '../wasm/dedupstore_wasm.js';
import type { FromInsideWorker, InsideRequest, InsideState, ToInsideWorker } from './protocol.js';

export interface SessionListener {
  stateChanged(state: InsideState): void;
  /** The cell that was asked for; null if there is no such cell. */
  cellDescribed(cell: CellDetails | null): void;
  failed(message: string): void;
}

/** A filter that is shown cell by cell, in its own worker. */
export class Session {
  readonly #worker = new Worker(new URL('../worker/inside.worker.ts', import.meta.url), {
    type: 'module',
  });
  readonly #listener: SessionListener;
  #hasEnded = false;

  constructor(request: InsideRequest, listener: SessionListener) {
    this.#listener = listener;
    listen<FromInsideWorker>(
      this.#worker,
      (message) => this.#receive(message),
      (message) => this.#receive({ kind: 'failed', message }),
    );
    this.#post({ kind: 'start', request });
  }

  setPace(pace: Pace): void {
    this.#post({ kind: 'pace', pace });
  }

  /** Runs this many lines, then pauses. */
  step(lines: number): void {
    this.#post({ kind: 'step', lines });
  }

  /** Shows the cells of a key from now on; null for no key. */
  selectKey(id: string | null): void {
    this.#post({ kind: 'selectKey', id });
  }

  describeCell(index: number): void {
    this.#post({ kind: 'describeCell', index });
  }

  end(): void {
    this.#hasEnded = true;
    this.#worker.terminate();
  }

  #post(message: ToInsideWorker): void {
    this.#worker.postMessage(message);
  }

  #receive(message: FromInsideWorker): void {
    // Messages that a worker sent before its end may arrive after it.
    if (this.#hasEnded) {
      return;
    }
    switch (message.kind) {
      case 'state':
        this.#listener.stateChanged(message.state);
        break;
      case 'cell':
        this.#listener.cellDescribed(message.cell);
        break;
      case 'failed':
        this.end();
        this.#listener.failed(message.message);
        break;
    }
  }
}
