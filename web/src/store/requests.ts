// Stores are made and looked into by a worker that does one thing and is ended: whatever
// happens there, the page goes on.

import type { FromStoreWorker, GivenStore, StoreOrder, ToStoreWorker } from './store-protocol.js';

/** A store that is being made. */
export interface Priming {
  /** The store's directory, as a tar. */
  readonly tar: Promise<Blob>;
  /** Ends it; nothing comes of it. */
  cancel(): void;
}

export function prime(order: StoreOrder, tellShare: (share: number) => void): Priming {
  const worker = startWorker();
  const tar = new Promise<Blob>((resolve, reject) => {
    send(worker, { kind: 'prime', order }, reject, (message) => {
      if (message.kind === 'priming') {
        tellShare(message.share);
      } else if (message.kind === 'primed') {
        worker.terminate();
        resolve(message.tar);
      }
    });
  });
  return { tar, cancel: () => worker.terminate() };
}

/** What `dedupstore inspect` prints of it; fails with what it would say. */
export function lookInto(store: GivenStore): Promise<string> {
  const worker = startWorker();
  return new Promise((resolve, reject) => {
    send(worker, { kind: 'look', store }, reject, (message) => {
      if (message.kind === 'looked') {
        worker.terminate();
        resolve(message.report);
      }
    });
  });
}

function startWorker(): Worker {
  return new Worker(new URL('./worker/store-worker.ts', import.meta.url), { type: 'module' });
}

function send(
  worker: Worker,
  order: ToStoreWorker,
  reject: (error: Error) => void,
  hear: (message: FromStoreWorker) => void,
): void {
  const fail = (message: string) => {
    worker.terminate();
    reject(new Error(message));
  };
  worker.onmessage = ({ data }: MessageEvent<FromStoreWorker>) =>
    data.kind === 'refused' ? fail(data.message) : hear(data);
  worker.onerror = (event) => {
    event.preventDefault();
    const reason = event.message || 'its script did not load';
    fail(`The engine could not be started: ${reason}.`);
  };
  worker.postMessage(order);
}
