// A run from the first key of a log to the last, at the pace that is set.

import { Simulator } from '../wasm/dedupstore_wasm.js';
import type { FromWorker, RunOrder } from '../protocol.js';
import type { LineProfile } from './key-protocol.js';
import type { KeySource } from './key-source.js';
import { NothingToRead } from './nothing-to-read.js';
import { Pacer } from './pacer.js';
import { withPart } from './part.js';
import { snapshot } from './plain.js';

/** Often enough to look alive; what is drawn takes its time from what is computed. */
const PROGRESS_MILLISECONDS = 250;
/** Theory is asked again when the log has grown by this factor; it takes a moment. */
const ASK_THEORY_GROWTH = 2;
/** How many keys are found at a time at full speed, and how many times as many ahead. */
const BATCH_LINES = 32 << 10;
const BATCHES_AHEAD = 4;

export async function run(
  order: RunOrder,
  source: KeySource,
  pacer: Pacer,
  tell: (message: FromWorker) => void,
): Promise<void> {
  const simulator = withPart(order.part, (part) => new Simulator(order.seed, part));
  for (const { filter, memoryBits } of order.entries) {
    simulator.enter(filter, memoryBits);
  }
  let lines: LineProfile = { read: 0, withoutKey: 0, top: [], topTooLow: 0, rate: null };
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
    tell({ kind: 'progress', snapshot: snapshot(simulator, lines, order, readBytes), isPaused });
    toldAt = performance.now();
  };

  for (let isLast = false; !isLast; ) {
    const batch = pacer.isFull
      ? await source.next(BATCH_LINES, BATCHES_AHEAD)
      : await source.next(pacer.takeLines(), 1);
    const { fingerprints, first } = batch;
    lines = batch.profile ?? lines;
    const before = readBytes;
    for (let start = 0; start < fingerprints.length; ) {
      const end = Math.min(start + pacer.takeLines(), fingerprints.length);
      simulator.take(fingerprints.subarray(start, end), first.subarray(start, end));
      readBytes = before + (batch.readBytes - before) * (end / fingerprints.length);
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
    readBytes = batch.readBytes;
    isLast = batch.isLast;
  }
  source.close();
  if (simulator.count === 0) {
    throw new NothingToRead(order, lines.withoutKey);
  }
  simulator.predict();
  tell({ kind: 'finished', snapshot: snapshot(simulator, lines, order, order.log.size) });
}

const { port1: turned, port2: turning } = new MessageChannel();

/** Lets messages in; a timer would wait some milliseconds more. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    turned.onmessage = () => resolve();
    turning.postMessage(null);
  });
}
