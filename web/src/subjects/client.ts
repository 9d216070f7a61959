// Reads logs for one subject, in a worker that is kept.

import { listen } from '../engine/listen.js';
import type { SubjectResult } from '../wasm/dedupstore_wasm.js';
import type { FromSubjectWorker, SubjectRequest, ToSubjectWorker } from './protocol.js';

export interface SubjectListener {
  reading(share: number): void;
  finished(result: SubjectResult): void;
  failed(message: string): void;
}

export class SubjectClient {
  #worker: Worker | undefined;
  #lastId = 0;

  /** Ends the run before. */
  run(request: SubjectRequest, listener: SubjectListener): void {
    this.#lastId += 1;
    const id = this.#lastId;
    this.#worker ??= new Worker(new URL('../worker/subjects.worker.ts', import.meta.url), {
      type: 'module',
    });
    const fail = (message: string) => {
      // After a trap nothing works.
      this.#worker?.terminate();
      this.#worker = undefined;
      listener.failed(message);
    };
    listen<FromSubjectWorker>(
      this.#worker,
      (message) => {
        if (message.id !== id) {
          return;
        }
        switch (message.kind) {
          case 'reading':
            listener.reading(message.share);
            break;
          case 'finished':
            listener.finished(message.result);
            break;
          case 'failed':
            fail(message.message);
            break;
        }
      },
      fail,
    );
    const message: ToSubjectWorker = { id, request };
    this.#worker.postMessage(message);
  }
}
