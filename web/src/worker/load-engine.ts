import type { EngineKind } from '../engine/settings.js';

export type Engine = typeof import('../wasm/dedupstore_wasm.js');

/**
 * Loads an engine. The bindings are the same for both kinds. They are imported dynamically,
 * so that all workers share one file with them.
 */
export async function loadEngine(kind: EngineKind): Promise<Engine> {
  const engine = await import('../wasm/dedupstore_wasm.js');
  if (kind === 'plain') {
    await engine.default();
  } else {
    const url = new URL('../wasm/dedupstore_wasm_complete_bg.wasm', import.meta.url);
    await engine.default({ module_or_path: url });
  }
  return engine;
}
