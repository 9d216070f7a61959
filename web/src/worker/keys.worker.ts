// Finds the keys of a log for a run in another worker.

import { engineFor } from '../engine/settings.js';
import { errorMessage } from './error-message.js';
import type { FromKeyWorker, ToKeyWorker } from './key-protocol.js';
import { KeyReader } from './key-reader.js';
import { loadEngine } from './load-engine.js';

let reader: Promise<KeyReader> | undefined;

self.onmessage = ({ data }: MessageEvent<ToKeyWorker>) => {
  switch (data.kind) {
    case 'start':
      reader = loadEngine(engineFor(data.request.key)).then(
        (engine) => new KeyReader(engine, data.request),
      );
      // The first `next` reports a failure.
      reader.catch(() => undefined);
      break;
    case 'next':
      // One after the other, in the order of the requests.
      reader = reader?.then((reader) => postBatch(reader, data.lines));
      reader?.catch((error: unknown) => post({ kind: 'failed', message: errorMessage(error) }));
      break;
  }
};

async function postBatch(reader: KeyReader, lines: number): Promise<KeyReader> {
  const batch = await reader.next(lines);
  const { fingerprints, first, importance } = batch;
  post({ kind: 'batch', batch }, [fingerprints.buffer, first.buffer, importance.buffer]);
  return reader;
}

function post(message: FromKeyWorker, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}
