import { listen } from '../engine/listen.js';
import type { Advice } from '../wasm/dedupstore_wasm.js';
import type { AdviceRequest, FromAdviceWorker } from './protocol.js';

export interface AdviceListener {
  /** The share of the log that was read; 1 while filters are tried. */
  progress(share: number): void;
  advised(advice: Advice): void;
  failed(message: string): void;
}

/** A request for advice in its own worker, which ends with the request. */
export class PendingAdvice {
  readonly #listener: AdviceListener;
  #worker: Worker | undefined;

  constructor(request: AdviceRequest, listener: AdviceListener) {
    this.#listener = listener;
    this.#worker = new Worker(new URL('../worker/advice.worker.ts', import.meta.url), {
      type: 'module',
    });
    listen<FromAdviceWorker>(
      this.#worker,
      (message) => this.#receive(message),
      (message) => this.#receive({ kind: 'failed', message }),
    );
    this.#worker.postMessage(request);
  }

  cancel(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  #receive(message: FromAdviceWorker): void {
    // Messages that a worker sent before its end may arrive after it.
    if (this.#worker === undefined) {
      return;
    }
    switch (message.kind) {
      case 'progress':
        this.#listener.progress(message.share);
        break;
      case 'advised':
        this.cancel();
        this.#listener.advised(message.advice);
        break;
      case 'failed':
        this.cancel();
        this.#listener.failed(message.message);
        break;
    }
  }
}
