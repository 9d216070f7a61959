// Finds the memory with which filters make few enough mistakes on a log. The log is read once.

import type { FromMemoryWorker, SearchedLog, ToMemoryWorker } from '../calculator/protocol.js';
import { type EngineKind, sizeOf } from '../engine/settings.js';
import type { MemorySearcher } from '../wasm/dedupstore_wasm.js';
import { errorMessage } from './error-message.js';
import { loadEngine } from './load-engine.js';
import { chunksOf } from './log-chunks.js';
import { NoKeysError } from './no-keys-error.js';
import { yieldToMessages } from './yield-to-messages.js';

const PROGRESS_MILLISECONDS = 100;

let searcher: Promise<MemorySearcher> | undefined;
/** A search ends when a later one has been requested. */
let lastId = 0;

self.onmessage = ({ data }: MessageEvent<ToMemoryWorker>) => {
  switch (data.kind) {
    case 'open':
      searcher = read(data.engine, data.log);
      // A search reports a failure.
      searcher.catch(() => undefined);
      break;
    case 'search':
      lastId = data.id;
      search(data.id, data.search.filters, data.search.maxError).catch((error: unknown) =>
        post({ kind: 'failed', id: data.id, message: errorMessage(error) }),
      );
      break;
  }
};

async function read(kind: EngineKind, request: SearchedLog): Promise<MemorySearcher> {
  const engine = await loadEngine(kind);
  const searcher = new engine.MemorySearcher(request.seed, request.key, request.part);
  let reportedAt = performance.now();
  for await (const { bytes, readBytes } of chunksOf(request.log)) {
    searcher.feed(bytes);
    if (performance.now() - reportedAt >= PROGRESS_MILLISECONDS) {
      post({ kind: 'reading', share: readBytes / sizeOf(request.log) });
      reportedAt = performance.now();
    }
    if (searcher.isComplete) {
      break;
    }
  }
  searcher.finish();
  if (searcher.count === 0) {
    throw new NoKeysError(request, searcher.linesWithoutKey);
  }
  return searcher;
}

async function search(id: number, filters: string[], maxError: number): Promise<void> {
  const log = await searcher;
  for (const filter of filters) {
    if (log === undefined || id !== lastId) {
      return;
    }
    const memory = log.search(filter, maxError) ?? null;
    post({ kind: 'found', id, filter, memory, oneKeyIn: log.oneKeyIn });
    await yieldToMessages();
  }
  post({ kind: 'finished', id });
}

function post(message: FromMemoryWorker): void {
  self.postMessage(message);
}
