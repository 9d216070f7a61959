// Gives advice for a log: reads it once and tries filters on a sample of its keys.

import type { AdviceRequest, FromAdviceWorker } from '../advice/protocol.js';
import { sizeOf } from '../engine/settings.js';
import { errorMessage } from './error-message.js';
import { loadEngine } from './load-engine.js';
import { chunksOf } from './log-chunks.js';
import { NoKeysError } from './no-keys-error.js';

const PROGRESS_MILLISECONDS = 100;

self.onmessage = ({ data }: MessageEvent<AdviceRequest>) => {
  advise(data).catch((error: unknown) => post({ kind: 'failed', message: errorMessage(error) }));
};

async function advise(request: AdviceRequest): Promise<void> {
  // Only the complete engine can choose among all filters.
  const { Adviser } = await loadEngine('complete');
  const adviser = new Adviser(request.key, request.part);
  let reportedAt = performance.now();
  for await (const { bytes, readBytes } of chunksOf(request.log)) {
    adviser.feed(bytes);
    if (performance.now() - reportedAt >= PROGRESS_MILLISECONDS) {
      post({ kind: 'progress', share: readBytes / sizeOf(request.log) });
      reportedAt = performance.now();
    }
    if (adviser.isComplete) {
      break;
    }
  }
  adviser.finish();
  if (adviser.count === 0) {
    throw new NoKeysError(request, adviser.linesWithoutKey);
  }
  post({ kind: 'progress', share: 1 });
  post({ kind: 'advised', advice: adviser.advise(request.requirements) });
}

function post(message: FromAdviceWorker): void {
  self.postMessage(message);
}
