// Runs filters over logs, one run after the other. The engine is loaded once.

import type { FromRunWorker, RunRequest, ToRunWorker } from '../engine/run-protocol.js';
import { type EngineKind, engineFor } from '../engine/settings.js';
import { errorMessage, isTrap } from './error-message.js';
import { KeySource } from './key-source.js';
import { type Engine, engineBytes, loadEngine } from './load-engine.js';
import { Pacer } from './pacer.js';
import { Cancelled, run } from './run-loop.js';

/** An engine with more memory is not kept: its memory never shrinks. */
const MAX_KEPT_BYTES = 64 << 20;

let engine: Promise<Engine> | undefined;
let source: KeySource | undefined;
let pacer: Pacer | undefined;

self.onmessage = ({ data }: MessageEvent<ToRunWorker>) => {
  switch (data.kind) {
    case 'prepare':
      prepare(data.engine);
      break;
    case 'start':
      void start(data.request);
      break;
    case 'cancel':
      pacer?.cancel();
      break;
    case 'pace':
      pacer?.setPace(data.pace);
      break;
    case 'step':
      pacer?.step(data.lines);
      break;
  }
};

/** The worker that finds keys loads its engine at the same time. */
function prepare(kind: EngineKind): { engine: Promise<Engine>; source: KeySource } {
  source ??= new KeySource(kind);
  engine ??= loadEngine(kind);
  // A run reports a failure.
  engine.catch(() => undefined);
  return { engine, source };
}

async function start(request: RunRequest): Promise<void> {
  let isReusable = true;
  const started = new Pacer(request.pace);
  pacer = started;
  try {
    const { engine, source } = prepare(engineFor(request.key, request.filters));
    source.open(request);
    await run(await engine, request, source, started, post);
  } catch (error) {
    if (!(error instanceof Cancelled)) {
      post({ kind: 'failed', message: errorMessage(error) });
    }
    isReusable = !isTrap(error) && !(source?.hasFailed ?? false);
  }
  const bytes = Math.max(engineBytes(), source?.engineBytes ?? 0);
  post({ kind: 'ended', isReusable: isReusable && engineBytes() > 0 && bytes <= MAX_KEPT_BYTES });
}

function post(message: FromRunWorker): void {
  self.postMessage(message);
}
