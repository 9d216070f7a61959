// A run from the first byte of a log to the last, at the pace that is set.

import { Simulator } from '../wasm/dedupstore_wasm.js';
import type { FromWorker, RunOrder } from '../protocol.js';
import { chunksOf } from './chunks.js';
import { keyChoice } from './key.js';
import { NothingToRead } from './nothing-to-read.js';
import { Pacer } from './pacer.js';
import { withPart } from './part.js';
import { copied, snapshot } from './plain.js';

/** Often enough to look alive; what is drawn takes its time from what is computed. */
const PROGRESS_MILLISECONDS = 250;
/** Theory is asked again when the log has grown by this factor; it takes a moment. */
const ASK_THEORY_GROWTH = 2;
/** Enough lines to find a clock in. */
const CLOCK_HEAD_BYTES = 64 << 10;

export async function run(
  order: RunOrder,
  pacer: Pacer,
  tell: (message: FromWorker) => void,
): Promise<void> {
  const simulator = copied(keyChoice(order.key), (key) =>
    withPart(order.part, (part) => new Simulator(order.seed, key, part)),
  );
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
    tell({ kind: 'progress', snapshot: snapshot(simulator, order, readBytes), isPaused });
    toldAt = performance.now();
  };

  for await (const { bytes, readBytes: readWithChunk } of chunksOf(order.log, order.name)) {
    const before = readBytes;
    if (before === 0) {
      simulator.lookForClock(bytes.subarray(0, CLOCK_HEAD_BYTES));
    }
    for (let start = 0; start < bytes.length && !simulator.isOver; ) {
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
    if (simulator.isOver) {
      break;
    }
  }
  simulator.finish();
  if (simulator.count === 0) {
    throw new NothingToRead(order, simulator.withoutKey);
  }
  simulator.predict();
  tell({ kind: 'finished', snapshot: snapshot(simulator, order, order.log.size) });
}

const { port1: turned, port2: turning } = new MessageChannel();

/** Lets messages in; a timer would wait some milliseconds more. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    turned.onmessage = () => resolve();
    turning.postMessage(null);
  });
}
