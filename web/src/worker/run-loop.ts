// Runs filters from the first key of a log to the last, at the chosen pace.

import type { FromRunWorker, RunRequest, Snapshot } from '../engine/run-protocol.js';
import { sizeOf } from '../engine/settings.js';
import type { LineProfile, Simulator } from '../wasm/dedupstore_wasm.js';
import type { KeySource } from './key-source.js';
import type { Engine } from './load-engine.js';
import { NoKeysError } from './no-keys-error.js';
import type { Pacer } from './pacer.js';
import { yieldToMessages } from './yield-to-messages.js';

/** Each report takes time from the run. */
const PROGRESS_MILLISECONDS = 250;
/** A cancelled run ends within this time. */
const YIELD_MILLISECONDS = 16;
/** Predictions take a moment, so they are computed when the log has grown by this factor. */
const PREDICTION_GROWTH = 2;
/** The stretches of a curve: each has enough keys even in a short log. */
const STRETCHES = 40;
/** The size of a batch at full speed, and the number of batches requested ahead. */
const BATCH_LINES = 32 << 10;
const BATCHES_AHEAD = 4;

/** The page has cancelled the run. */
export class Cancelled extends Error {}

export async function run(
  engine: Engine,
  request: RunRequest,
  source: KeySource,
  pacer: Pacer,
  post: (message: FromRunWorker) => void,
): Promise<void> {
  const simulator = new engine.Simulator(request.seed, request.part);
  try {
    await observeAll(simulator, request, source, pacer, post);
  } finally {
    simulator.free();
  }
}

async function observeAll(
  simulator: Simulator,
  request: RunRequest,
  source: KeySource,
  pacer: Pacer,
  post: (message: FromRunWorker) => void,
): Promise<void> {
  const totalBytes = sizeOf(request.log);
  for (const { filter, memoryBits } of request.filters) {
    simulator.addFilter(filter, memoryBits);
  }
  const isWeighted = request.key.importance !== null;
  if (isWeighted) {
    simulator.addReferences();
  }
  let lineProfile: LineProfile = {
    linesRead: 0,
    linesWithoutKey: 0,
    linesWithoutImportance: 0,
    topKeys: [],
    topKeysError: 0,
    linesOverTime: null,
  };
  let readBytes = 0;
  let reportedAt = performance.now();
  let yieldedAt = reportedAt;
  let predictedAt = 0;
  const snapshot = (): Snapshot => ({
    ...simulator.results(STRETCHES),
    readBytes,
    totalBytes,
    part: request.part,
    lineProfile,
    weighted: isWeighted ? simulator.weighted() : [],
  });
  const reportProgress = () => {
    const isDue = simulator.count >= predictedAt * PREDICTION_GROWTH;
    if (isDue || pacer.isPaused) {
      simulator.predict();
      predictedAt = simulator.count;
    }
    post({ kind: 'progress', snapshot: snapshot(), isPaused: pacer.isPaused });
    reportedAt = performance.now();
  };

  for (let isLast = false; !isLast; ) {
    const batch = pacer.isFull
      ? await source.next(BATCH_LINES, BATCHES_AHEAD)
      : await source.next(pacer.batchLines(), 1);
    if (pacer.isCancelled) {
      throw new Cancelled();
    }
    const { fingerprints, first, importance } = batch;
    lineProfile = batch.profile ?? lineProfile;
    const before = readBytes;
    for (let start = 0; start < fingerprints.length; ) {
      const end = Math.min(start + pacer.batchLines(), fingerprints.length);
      const keys = fingerprints.subarray(start, end);
      if (isWeighted) {
        const weights = importance.subarray(start, end);
        simulator.observeWeighted(keys, first.subarray(start, end), weights);
      } else {
        simulator.observe(keys, first.subarray(start, end));
      }
      readBytes = before + (batch.readBytes - before) * (end / fingerprints.length);
      start = end;
      const stepHasEnded = pacer.advanceTo(simulator.count);
      const now = performance.now();
      if (stepHasEnded || now - reportedAt >= PROGRESS_MILLISECONDS) {
        reportProgress();
      }
      if (stepHasEnded || now - yieldedAt >= YIELD_MILLISECONDS) {
        await yieldToMessages();
        yieldedAt = performance.now();
      }
      while (pacer.mustWait()) {
        if (pacer.isPaused) {
          reportProgress();
        }
        await pacer.wait();
      }
      if (pacer.isCancelled) {
        throw new Cancelled();
      }
    }
    readBytes = batch.readBytes;
    isLast = batch.isLast;
  }
  if (simulator.count === 0) {
    throw new NoKeysError(request, lineProfile.linesWithoutKey);
  }
  simulator.predict();
  readBytes = totalBytes;
  post({ kind: 'finished', snapshot: snapshot() });
}
