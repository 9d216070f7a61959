// A run from the first byte of a log to the last, at the pace that is set.

import { Simulator } from '../wasm/dedupstore_wasm.js';
import type { FromWorker, RunOrder } from '../protocol.js';
import { chunksOf } from './chunks.js';
import { keyChoice } from './key.js';
import { Pacer } from './pacer.js';
import { copied, snapshot } from './plain.js';

const PROGRESS_MILLISECONDS = 100;
/** Theory is asked again when the log has grown by this factor; it takes a moment. */
const ASK_THEORY_GROWTH = 1.5;

export async function run(
  order: RunOrder,
  pacer: Pacer,
  tell: (message: FromWorker) => void,
): Promise<void> {
  const totalBytes = order.log.size;
  const simulator = copied(keyChoice(order.key), (key) => new Simulator(order.seed, key));
  for (const { filter, memoryBits } of order.entries) {
    simulator.enter(filter, memoryBits);
  }
  let readBytes = 0;
  let toldAt = performance.now();
  let askedAt = 0;
  const tellProgress = () => {
    const isDue = simulator.count >= askedAt * ASK_THEORY_GROWTH;
    if (isDue || pacer.isPaused) {
      simulator.predict();
      askedAt = simulator.count;
    }
    const { isPaused } = pacer;
    tell({ kind: 'progress', snapshot: snapshot(simulator, readBytes, totalBytes), isPaused });
    toldAt = performance.now();
  };

  for await (const { bytes, readBytes: readWithChunk } of chunksOf(order.log, order.name)) {
    const before = readBytes;
    for (let start = 0; start < bytes.length; ) {
      const end = Math.min(start + pacer.feedBytes(), bytes.length);
      simulator.feed(bytes.subarray(start, end));
      readBytes = before + (readWithChunk - before) * (end / bytes.length);
      start = end;
      const stepIsOver = pacer.reached(simulator.count);
      if (stepIsOver || performance.now() - toldAt >= PROGRESS_MILLISECONDS) {
        tellProgress();
        await turn();
      }
      while (pacer.mustWait()) {
        if (pacer.isPaused) {
          tellProgress();
        }
        await pacer.wait();
      }
    }
    readBytes = readWithChunk;
  }
  simulator.finish();
  if (simulator.count === 0) {
    throw new Error(
      simulator.withoutKey > 0
        ? `No line of ${order.name} has such a key: choose another.`
        : `${order.name} is empty: there is no line to run the filters over.`,
    );
  }
  simulator.predict();
  tell({ kind: 'finished', snapshot: snapshot(simulator, totalBytes, totalBytes) });
}

/** Lets messages in. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve);
  });
}
