// Runs filters over a log.
//
// There is no message to cancel a run: the page terminates this worker, which stops the
// engine at once and frees all of its memory.

import type { FromRunWorker, ToRunWorker } from '../engine/run-protocol.js';
import { engineFor } from '../engine/settings.js';
import { errorMessage } from './error-message.js';
import { KeySource } from './key-source.js';
import { loadEngine } from './load-engine.js';
import { Pacer } from './pacer.js';
import { run } from './run-loop.js';

let pacer: Pacer | undefined;

self.onmessage = ({ data }: MessageEvent<ToRunWorker>) => {
  switch (data.kind) {
    case 'start': {
      const { request } = data;
      const started = new Pacer(request.pace);
      pacer = started;
      // Its worker loads an engine at the same time.
      const source = new KeySource(request);
      loadEngine(engineFor(request.key, request.filters))
        .then((engine) => run(engine, request, source, started, post))
        .catch((error: unknown) => post({ kind: 'failed', message: errorMessage(error) }));
      break;
    }
    case 'pace':
      pacer?.setPace(data.pace);
      break;
    case 'step':
      pacer?.step(data.lines);
      break;
  }
};

function post(message: FromRunWorker): void {
  self.postMessage(message);
}
