// Builds and inspects stores. Each request has its own worker, which ends with the request.

import { listen } from '../engine/listen.js';
import type { BuildRequest, FromStoreWorker, StoreFiles, StoreRequest } from './protocol.js';

/** A store that is being built. */
export interface PendingStore {
  /** The store's directory as a tar file. */
  readonly tar: Promise<Blob>;
  /** Ends the worker; `tar` stays pending. */
  cancel(): void;
}

export function buildStore(
  request: BuildRequest,
  reportShare: (share: number) => void,
): PendingStore {
  const worker = startWorker();
  const tar = new Promise<Blob>((resolve, reject) => {
    send(worker, { kind: 'build', request }, reject, (message) => {
      if (message.kind === 'building') {
        reportShare(message.share);
      } else if (message.kind === 'built') {
        worker.terminate();
        resolve(message.tar);
      }
    });
  });
  return { tar, cancel: () => worker.terminate() };
}

/** Returns the report of `dedupstore inspect`, or rejects with its error. */
export function inspectStore(store: StoreFiles): Promise<string> {
  const worker = startWorker();
  return new Promise((resolve, reject) => {
    send(worker, { kind: 'inspect', store }, reject, (message) => {
      if (message.kind === 'inspected') {
        worker.terminate();
        resolve(message.report);
      }
    });
  });
}

function startWorker(): Worker {
  return new Worker(new URL('../worker/store.worker.ts', import.meta.url), { type: 'module' });
}

function send(
  worker: Worker,
  request: StoreRequest,
  reject: (error: Error) => void,
  receive: (message: FromStoreWorker) => void,
): void {
  const fail = (message: string) => {
    worker.terminate();
    reject(new Error(message));
  };
  listen<FromStoreWorker>(
    worker,
    (message) => (message.kind === 'failed' ? fail(message.message) : receive(message)),
    fail,
  );
  worker.postMessage(request);
}
