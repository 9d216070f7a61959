// Finds the keys of logs for the runs of another worker.

import { errorMessage, isTrap } from './error-message.js';
import type { FromKeyWorker, KeyRequest, ToKeyWorker } from './key-protocol.js';
import { KeyReader } from './key-reader.js';
import { type Engine, loadEngine } from './load-engine.js';

let engine: Promise<Engine> | undefined;
let run = 0;
/** The requests for the open log are answered in order. */
let reader: Promise<KeyReader> | undefined;

self.onmessage = ({ data }: MessageEvent<ToKeyWorker>) => {
  switch (data.kind) {
    case 'prepare':
      engine = loadEngine(data.engine);
      // The first `next` reports a failure.
      engine.catch(() => undefined);
      break;
    case 'open':
      run = data.run;
      reader = open(reader, data.request);
      reader.catch(() => undefined);
      break;
    case 'next':
      reader = reader === undefined ? undefined : postBatch(reader, run, data.lines);
      reader?.catch(() => undefined);
      break;
  }
};

async function open(
  before: Promise<KeyReader> | undefined,
  request: KeyRequest,
): Promise<KeyReader> {
  await before?.then(
    (reader) => reader.close(),
    () => undefined,
  );
  if (engine === undefined) {
    throw new Error('The engine has not been requested.');
  }
  return new KeyReader(await engine, request);
}

async function postBatch(
  pending: Promise<KeyReader>,
  ofRun: number,
  lines: number,
): Promise<KeyReader> {
  try {
    const reader = await pending;
    if (ofRun === run) {
      const batch = await reader.next(lines);
      const { fingerprints, first, importance } = batch;
      const transfer = [fingerprints.buffer, first.buffer, importance.buffer];
      post({ kind: 'batch', run: ofRun, batch }, transfer);
    }
    return reader;
  } catch (error) {
    post({ kind: 'failed', run: ofRun, message: errorMessage(error), isTrap: isTrap(error) });
    throw error;
  }
}

function post(message: FromKeyWorker, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}
