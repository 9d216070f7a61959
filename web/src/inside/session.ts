// The page's end of a filter that is looked into: a worker of its own.

import { startWorker } from '../engine.js';
import { type FromWorker, type Pace, type ToWorker, engineFor } from '../protocol.js';
import type { CellLook, InsideOrder, InsideState } from './data.js';

export interface SessionListener {
  shown(state: InsideState): void;
  /** A cell that was pointed at. */
  pointed(cell: CellLook | null): void;
  failed(message: string): void;
}

export class Session {
  readonly #worker: Worker;
  readonly #listener: SessionListener;
  #isOver = false;

  constructor(order: InsideOrder, listener: SessionListener) {
    this.#listener = listener;
    this.#worker = startWorker(engineFor(order.key), (message) => this.#hear(message));
    this.#tell({ kind: 'inside', order });
  }

  setPace(pace: Pace): void {
    this.#tell({ kind: 'pace', pace });
  }

  step(lines: number): void {
    this.#tell({ kind: 'step', lines });
  }

  /** Looks at a key's cells from now on. */
  pick(id: string | null): void {
    this.#tell({ kind: 'pick', id });
  }

  point(index: number): void {
    this.#tell({ kind: 'point', index });
  }

  end(): void {
    this.#isOver = true;
    this.#worker.terminate();
  }

  #tell(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  #hear(message: FromWorker): void {
    // What an ended worker had said before its end may still arrive.
    if (this.#isOver) {
      return;
    }
    switch (message.kind) {
      case 'inside':
        this.#listener.shown(message.state);
        break;
      case 'cell':
        this.#listener.pointed(message.cell);
        break;
      case 'failed':
        this.end();
        this.#listener.failed(message.message);
        break;
    }
  }
}
