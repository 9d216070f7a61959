import initialise from '../wasm/dedupstore_wasm.js';
import type { EngineKind } from '../protocol.js';

/** Starts an engine. Both have the same bindings. */
export function load(kind: EngineKind): Promise<unknown> {
  if (kind === 'plain') {
    return initialise();
  }
  const complete = new URL('../wasm/dedupstore_wasm_complete_bg.wasm', import.meta.url);
  return initialise({ module_or_path: complete });
}
