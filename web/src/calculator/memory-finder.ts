// Finds the memory for filters on a log, in a worker that keeps the keys of the log.

import { listen } from '../engine/listen.js';
import { type LogSource, engineFor } from '../engine/settings.js';
import type { FoundMemory, FromMemoryWorker, MemorySearch, ToMemoryWorker } from './protocol.js';

export interface FinderListener {
  reading(share: number): void;
  found(found: FoundMemory): void;
  finished(): void;
  failed(message: string): void;
}

export class MemoryFinder {
  #worker: Worker | undefined;
  /** What the worker has read. */
  #openLog: LogSource['log'] | undefined;
  #openSettings = '';
  #lastId = 0;

  /** Ends the search before. */
  search(
    source: LogSource & { seed: number },
    search: MemorySearch,
    listener: FinderListener,
  ): void {
    const { log, name, key, part, seed } = source;
    const engine = engineFor(key, search.filters.map((filter) => ({ filter })));
    const settings = JSON.stringify({ key, part, seed, engine });
    this.#lastId += 1;
    const id = this.#lastId;
    if (this.#worker === undefined || this.#openLog !== log || this.#openSettings !== settings) {
      this.stop();
      this.#worker = new Worker(new URL('../worker/memory.worker.ts', import.meta.url), {
        type: 'module',
      });
      this.#openLog = log;
      this.#openSettings = settings;
      this.#post({ kind: 'open', engine, log: { log, name, key, part, seed } });
    }
    const fail = (message: string) => {
      this.stop();
      listener.failed(message);
    };
    listen<FromMemoryWorker>(
      this.#worker,
      (message) => {
        if (message.kind === 'reading') {
          listener.reading(message.share);
        } else if (message.id === id) {
          receive(message, listener, fail);
        }
      },
      fail,
    );
    this.#post({ kind: 'search', id, search });
  }

  stop(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  #post(message: ToMemoryWorker): void {
    this.#worker?.postMessage(message);
  }
}

function receive(
  message: Exclude<FromMemoryWorker, { kind: 'reading' }>,
  listener: FinderListener,
  fail: (message: string) => void,
): void {
  switch (message.kind) {
    case 'found':
      listener.found(message.found);
      break;
    case 'finished':
      listener.finished();
      break;
    case 'failed':
      fail(message.message);
      break;
  }
}
