// The keys of a log for a run. Another worker finds them: it reads, splits and hashes lines
// and knows the truth on one core, while the filters run on another. The results do not
// depend on that. The worker ends with the worker of the run.

import type { FromKeyWorker, KeyBatch, KeyRequest, ToKeyWorker } from './key-protocol.js';

interface Pending {
  resolve(batch: KeyBatch): void;
  reject(error: Error): void;
}

export class KeySource {
  readonly #worker = new Worker(new URL('./keys.worker.ts', import.meta.url), { type: 'module' });
  readonly #requested: Promise<KeyBatch>[] = [];
  readonly #pending: Pending[] = [];

  constructor({ log, name, key, part, seed }: KeyRequest) {
    this.#worker.onmessage = ({ data }: MessageEvent<FromKeyWorker>) => {
      if (data.kind === 'failed') {
        this.#fail(data.message);
      } else {
        this.#pending.shift()?.resolve(data.batch);
      }
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      const reason = event.message || 'its script did not load';
      this.#fail(`The engine could not be started: ${reason}.`);
    };
    this.#post({ kind: 'start', request: { log, name, key, part, seed } });
  }

  /** Returns the next keys, and keeps this many batches requested. */
  next(lines: number, batches: number): Promise<KeyBatch> {
    while (this.#requested.length < batches) {
      this.#requested.push(this.#request(lines));
    }
    return this.#requested.shift() ?? this.#request(lines);
  }

  close(): void {
    this.#worker.terminate();
  }

  #request(lines: number): Promise<KeyBatch> {
    const batch = new Promise<KeyBatch>((resolve, reject) => {
      this.#pending.push({ resolve, reject });
    });
    // `next` may never return this batch.
    batch.catch(() => undefined);
    this.#post({ kind: 'next', lines });
    return batch;
  }

  #fail(message: string): void {
    this.#pending.splice(0).forEach(({ reject }) => reject(new Error(message)));
  }

  #post(message: ToKeyWorker): void {
    this.#worker.postMessage(message);
  }
}
