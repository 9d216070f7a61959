// The compiled engines. Each is fetched and compiled once, in the page, and all workers share
// the result: a new worker fetches nothing, also when the server has gone.

import type { EngineKind, EngineModule } from './settings.js';

const ADDRESSES: Record<EngineKind, URL> = {
  plain: new URL('../wasm/dedupstore_wasm_bg.wasm', import.meta.url),
  complete: new URL('../wasm/dedupstore_wasm_complete_bg.wasm', import.meta.url),
};

const modules = new Map<EngineKind, Promise<WebAssembly.Module>>();

/** Returns a compiled engine. After a failure, the next call tries again. */
export function compiledEngine(kind: EngineKind): Promise<WebAssembly.Module> {
  const known = modules.get(kind);
  if (known !== undefined) {
    return known;
  }
  const module = compile(ADDRESSES[kind]);
  modules.set(kind, module);
  module.catch(() => modules.delete(kind));
  return module;
}

/** Answers a worker that has asked for an engine. */
export async function provideEngine(worker: Worker, engine: EngineKind): Promise<void> {
  let answer: EngineModule;
  try {
    answer = { kind: 'engine', engine, module: await compiledEngine(engine) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    answer = { kind: 'engineFailed', engine, message: `The engine could not be loaded: ${message}` };
  }
  worker.postMessage(answer);
}

async function compile(address: URL): Promise<WebAssembly.Module> {
  const response = await fetch(address);
  if (!response.ok) {
    throw new Error(`the server answered ${response.status}.`);
  }
  // Some servers send another content type, with which streaming is not allowed.
  return response.headers.get('content-type') === 'application/wasm'
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}
