// One request for advice, in a worker of its own, which ends with it however it ends.

import { startWorker } from './engine.js';
import { type AdviceData, type AdviceOrder, type ToWorker, engineFor } from './protocol.js';

export interface AdviceListener {
  /** How much of the log has been read; 1 while filters are tried. */
  progress(share: number): void;
  advised(advice: AdviceData): void;
  failed(message: string): void;
}

export class AdviceRun {
  #worker: Worker | undefined;

  constructor(order: AdviceOrder, listener: AdviceListener) {
    this.#worker = startWorker(engineFor(order.key), (message) => {
      if (this.#worker === undefined) {
        return;
      }
      switch (message.kind) {
        case 'advising':
          listener.progress(message.share);
          break;
        case 'advised':
          this.cancel();
          listener.advised(message.advice);
          break;
        case 'failed':
          this.cancel();
          listener.failed(message.message);
          break;
      }
    });
    this.#worker.postMessage({ kind: 'advise', order } satisfies ToWorker);
  }

  cancel(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }
}
