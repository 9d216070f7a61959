// Reads logs for subjects: windows, many machines, growth.

import { sizeOf } from '../engine/settings.js';
import type { FromSubjectWorker, SubjectRequest, ToSubjectWorker } from '../subjects/protocol.js';
import { errorMessage } from './error-message.js';
import { loadEngine } from './load-engine.js';
import { chunksOf } from './log-chunks.js';
import { NoKeysError } from './no-keys-error.js';
import { yieldToMessages } from './yield-to-messages.js';

const PROGRESS_MILLISECONDS = 100;

let lastId = 0;

self.onmessage = ({ data }: MessageEvent<ToSubjectWorker>) => {
  const { id, request } = data;
  lastId = id;
  run(id, request).catch((error: unknown) =>
    post({ kind: 'failed', id, message: errorMessage(error) }),
  );
};

async function run(id: number, request: SubjectRequest): Promise<void> {
  const { log, key, part, seed, memoryBits, subject } = request;
  const engine = await loadEngine('complete');
  const run = new engine.SubjectRun(seed, key, part, memoryBits, subject);
  try {
    let reportedAt = performance.now();
    for await (const { bytes, readBytes } of chunksOf(log)) {
      run.feed(bytes);
      if (performance.now() - reportedAt >= PROGRESS_MILLISECONDS) {
        post({ kind: 'reading', id, share: readBytes / sizeOf(log) });
        reportedAt = performance.now();
      }
      await yieldToMessages();
      if (id !== lastId || run.isComplete) {
        break;
      }
    }
    if (id !== lastId) {
      return;
    }
    run.finish();
    if (run.count === 0) {
      throw new NoKeysError(request, run.linesWithoutKey);
    }
    post({ kind: 'finished', id, result: run.results() });
  } finally {
    run.free();
  }
}

function post(message: FromSubjectWorker): void {
  self.postMessage(message);
}
