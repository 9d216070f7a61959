// The keys of a log as a run asks for them. They are found by another worker, which ends
// with the run's: a processor with two cores reads, splits, hashes and knows the truth with
// one, and runs filters with the other. What comes of it is the same.

import { type ToWorker, engineFor } from '../protocol.js';
import type { FromKeyWorker, KeyBatch, KeyOrder, ToKeyWorker } from './key-protocol.js';

interface Waiting {
  resolve(batch: KeyBatch): void;
  reject(error: Error): void;
}

export class KeySource {
  readonly #worker: Worker;
  readonly #asked: Promise<KeyBatch>[] = [];
  readonly #waiting: Waiting[] = [];

  constructor({ log, name, key, part, seed }: KeyOrder) {
    // This very script once more, which the page has loaded already.
    this.#worker = new Worker(self.location.href, { type: 'module' });
    this.#worker.onmessage = ({ data }: MessageEvent<FromKeyWorker>) => {
      if (data.kind === 'failed') {
        this.#fail(data.message);
      } else {
        this.#waiting.shift()?.resolve(data.batch);
      }
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      const reason = event.message || 'its script did not load';
      this.#fail(`The engine could not be started: ${reason}.`);
    };
    this.#tell({ kind: 'begin', engine: engineFor(key) });
    this.#tell({ kind: 'keys', order: { log, name, key, part, seed } });
  }

  /** The next keys, while others are found: so many batches are asked for at a time. */
  next(lines: number, batches: number): Promise<KeyBatch> {
    while (this.#asked.length < batches) {
      this.#asked.push(this.#ask(lines));
    }
    return this.#asked.shift() ?? this.#ask(lines);
  }

  close(): void {
    this.#worker.terminate();
  }

  #ask(lines: number): Promise<KeyBatch> {
    const batch = new Promise<KeyBatch>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
    // Heard when its turn comes, which is perhaps never.
    batch.catch(() => undefined);
    this.#tell({ kind: 'more', lines });
    return batch;
  }

  #fail(message: string): void {
    this.#waiting.splice(0).forEach(({ reject }) => reject(new Error(message)));
  }

  #tell(message: ToWorker | ToKeyWorker): void {
    this.#worker.postMessage(message);
  }
}
