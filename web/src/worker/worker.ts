// The engine's thread. It runs one order at a time and knows nothing of the page.
//
// There is no message to cancel: the page ends this worker and starts another, which
// stops at once whatever the engine is doing and gives all its memory back.

import initialise, { Simulator } from '../wasm/dedupstore_wasm.js';
import type { FromWorker, RunOrder, ToWorker } from '../protocol.js';
import { chunksOf } from './chunks.js';
import { registry, snapshot } from './plain.js';

/** How much the engine is fed at a time, so that progress shows with slow filters too. */
const FEED_BYTES = 256 << 10;
const PROGRESS_MILLISECONDS = 100;

const engine = initialise();

self.onmessage = (event: MessageEvent<ToWorker>) => {
  engine.then(() => run(event.data.order)).catch(fail);
};

engine.then(() => tell({ kind: 'ready', filters: registry() })).catch(fail);

async function run(order: RunOrder): Promise<void> {
  const totalBytes = order.log.size;
  const simulator = new Simulator(order.seed);
  for (const filter of order.filters) {
    simulator.enter(filter, order.memoryBits);
  }
  let toldAt = performance.now();
  for await (const chunk of chunksOf(order.log, order.name)) {
    for (let start = 0; start < chunk.length; start += FEED_BYTES) {
      simulator.feed(chunk.subarray(start, start + FEED_BYTES));
      if (performance.now() - toldAt >= PROGRESS_MILLISECONDS) {
        tell({ kind: 'progress', snapshot: snapshot(simulator, totalBytes) });
        toldAt = performance.now();
      }
    }
  }
  simulator.finish();
  if (simulator.count === 0) {
    throw new Error(`${order.name} is empty: there is no line to run the filters over.`);
  }
  tell({ kind: 'finished', snapshot: snapshot(simulator, totalBytes) });
}

function fail(error: unknown): void {
  tell({ kind: 'failed', message: explain(error) });
}

/** The engine's refusals are sentences already; a trap is only a name. */
function explain(error: unknown): string {
  if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) {
    return (
      `The engine stopped (${error.message}). It has probably run out of memory: ` +
      'try a smaller memory, fewer filters or a shorter log.'
    );
  }
  return error instanceof Error ? error.message : String(error);
}

function tell(message: FromWorker): void {
  self.postMessage(message);
}
