// The workers of runs. They are kept between runs with their engines, so a run starts within
// milliseconds and fetches nothing.

import { listen } from './listen.js';
import type { FromRunWorker, RunRequest, ToRunWorker } from './run-protocol.js';
import type { EngineKind } from './settings.js';

/** A worker that does not end its run within this time is terminated. */
const CANCEL_MILLISECONDS = 2000;
/** The number of workers of each kind that wait for a run. */
const MAX_IDLE = 2;

/** A worker with an engine. It has at most one run at a time. */
export class RunWorker {
  readonly kind: EngineKind;
  readonly #worker = new Worker(new URL('../worker/run.worker.ts', import.meta.url), {
    type: 'module',
  });
  #receive: ((message: FromRunWorker) => void) | undefined;
  #cancelTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(kind: EngineKind) {
    this.kind = kind;
    listen<FromRunWorker>(
      this.#worker,
      (message) => (message.kind === 'ended' ? this.#end(message.isReusable) : this.#receive?.(message)),
      (message) => this.#fail(message),
    );
    this.post({ kind: 'prepare', engine: kind });
  }

  start(request: RunRequest, receive: (message: FromRunWorker) => void): void {
    this.#receive = receive;
    this.post({ kind: 'start', request });
  }

  /** Ends the run. Nothing more is reported. */
  cancel(): void {
    this.#receive = () => undefined;
    this.post({ kind: 'cancel' });
    this.#cancelTimer = setTimeout(() => this.#end(false), CANCEL_MILLISECONDS);
  }

  post(message: ToRunWorker): void {
    this.#worker.postMessage(message);
  }

  terminate(): void {
    this.#worker.terminate();
  }

  #end(isReusable: boolean): void {
    clearTimeout(this.#cancelTimer);
    this.#receive = undefined;
    takeBack(this, isReusable);
  }

  /** The script did not load, or an error was not caught. */
  #fail(message: string): void {
    const receive = this.#receive;
    clearTimeout(this.#cancelTimer);
    this.#receive = undefined;
    drop(this);
    receive?.({ kind: 'failed', message });
  }
}

const idle: RunWorker[] = [];

/** Returns a worker that waits for a run, or a new one. */
export function takeWorker(kind: EngineKind): RunWorker {
  const index = idle.findIndex((worker) => worker.kind === kind);
  const worker = index < 0 ? new RunWorker(kind) : idle.splice(index, 1)[0];
  return worker ?? new RunWorker(kind);
}

/** Starts a worker before there is a run for it. */
export function prepareWorker(kind: EngineKind): void {
  if (idle.every((worker) => worker.kind !== kind)) {
    idle.push(new RunWorker(kind));
  }
}

function takeBack(worker: RunWorker, isReusable: boolean): void {
  const waiting = idle.filter(({ kind }) => kind === worker.kind).length;
  if (isReusable && waiting < MAX_IDLE) {
    idle.push(worker);
  } else {
    drop(worker);
    prepareWorker(worker.kind);
  }
}

function drop(worker: RunWorker): void {
  worker.terminate();
  const index = idle.indexOf(worker);
  if (index >= 0) {
    idle.splice(index, 1);
  }
}
