// Gets the compiled engine from the page, which compiles it once for all workers.

import type { EngineKind, EngineModule, EngineWanted } from '../engine/settings.js';
import type { InitOutput } from '../wasm/dedupstore_wasm.js';

export type Engine = typeof import('../wasm/dedupstore_wasm.js');

interface Pending {
  resolve(module: WebAssembly.Module): void;
  reject(error: Error): void;
}

const pending = new Map<EngineKind, Pending[]>();
let exports: InitOutput | undefined;

// Imports run first, so this listener comes before that of the worker.
self.addEventListener('message', (event: MessageEvent<EngineModule | { kind: string }>) => {
  const answer = event.data;
  if (!isEngineModule(answer)) {
    return;
  }
  event.stopImmediatePropagation();
  const waiting = pending.get(answer.engine) ?? [];
  pending.delete(answer.engine);
  for (const { resolve, reject } of waiting) {
    if (answer.kind === 'engine') {
      resolve(answer.module);
    } else {
      reject(new Error(answer.message));
    }
  }
});

/**
 * Loads an engine; a worker has one. The bindings are the same for both kinds. They are
 * imported dynamically, so that all workers share one file with them.
 */
export async function loadEngine(kind: EngineKind): Promise<Engine> {
  const [engine, module_or_path] = await Promise.all([
    import('../wasm/dedupstore_wasm.js'),
    engineModule(kind),
  ]);
  exports = await engine.default({ module_or_path });
  return engine;
}

/** Asks the page for a compiled engine. */
export function engineModule(engine: EngineKind): Promise<WebAssembly.Module> {
  return new Promise((resolve, reject) => {
    const waiting = pending.get(engine);
    if (waiting !== undefined) {
      waiting.push({ resolve, reject });
      return;
    }
    pending.set(engine, [{ resolve, reject }]);
    const message: EngineWanted = { kind: 'engineWanted', engine };
    self.postMessage(message);
  });
}

/** The memory of this worker's engine, which never shrinks; 0 if none is loaded. */
export function engineBytes(): number {
  return exports?.memory.buffer.byteLength ?? 0;
}

function isEngineModule(message: { kind: string }): message is EngineModule {
  return message.kind === 'engine' || message.kind === 'engineFailed';
}
