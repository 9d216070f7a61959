// The keys of a log for a run. Another worker finds them: it reads, splits and hashes lines
// and knows the truth on one core, while the filters run on another. The results do not
// depend on that. The worker is kept between runs.

import type { EngineKind, EngineModule, EngineWanted } from '../engine/settings.js';
import type { FromKeyWorker, KeyBatch, KeyRequest, ToKeyWorker } from './key-protocol.js';
import { engineModule } from './load-engine.js';

interface Pending {
  resolve(batch: KeyBatch): void;
  reject(error: Error): void;
}

export class KeySource {
  readonly #worker = new Worker(new URL('./keys.worker.ts', import.meta.url), { type: 'module' });
  #requested: Promise<KeyBatch>[] = [];
  #pending: Pending[] = [];
  #run = 0;
  #failure: string | undefined;
  /** The memory of the worker's engine. */
  engineBytes = 0;

  constructor(engine: EngineKind) {
    this.#worker.onmessage = ({ data }: MessageEvent<FromKeyWorker | EngineWanted>) => {
      if (data.kind === 'engineWanted') {
        void this.#provide(data.engine);
      } else if (data.run === this.#run) {
        this.#receive(data);
      }
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      const reason = event.message || 'its script did not load';
      this.#failure = `The engine could not be started: ${reason}.`;
      this.#fail(this.#failure);
    };
    this.#post({ kind: 'prepare', engine });
  }

  /** Whether the worker can no longer be used. */
  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Opens a log, in place of the one before. */
  open({ log, name, key, part, seed }: KeyRequest): void {
    this.#run += 1;
    this.#requested = [];
    this.#pending = [];
    this.#post({ kind: 'open', run: this.#run, request: { log, name, key, part, seed } });
  }

  /** Returns the next keys, and keeps this many batches requested. */
  next(lines: number, batches: number): Promise<KeyBatch> {
    while (this.#requested.length < batches) {
      this.#requested.push(this.#request(lines));
    }
    return this.#requested.shift() ?? this.#request(lines);
  }

  #request(lines: number): Promise<KeyBatch> {
    if (this.#failure !== undefined) {
      return Promise.reject(new Error(this.#failure));
    }
    const batch = new Promise<KeyBatch>((resolve, reject) => {
      this.#pending.push({ resolve, reject });
    });
    // `next` may never return this batch.
    batch.catch(() => undefined);
    this.#post({ kind: 'next', lines });
    return batch;
  }

  #receive(message: FromKeyWorker): void {
    if (message.kind === 'batch') {
      this.engineBytes = message.batch.engineBytes;
      this.#pending.shift()?.resolve(message.batch);
      return;
    }
    if (message.isTrap) {
      this.#failure = message.message;
    }
    this.#fail(message.message);
  }

  /** The page has compiled the engine. */
  async #provide(engine: EngineKind): Promise<void> {
    let answer: EngineModule;
    try {
      answer = { kind: 'engine', engine, module: await engineModule(engine) };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      answer = { kind: 'engineFailed', engine, message };
    }
    this.#worker.postMessage(answer);
  }

  #fail(message: string): void {
    this.#pending.splice(0).forEach(({ reject }) => reject(new Error(message)));
  }

  #post(message: ToKeyWorker): void {
    this.#worker.postMessage(message);
  }
}
