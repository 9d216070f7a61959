// Finds the memory with which filters make few enough mistakes on a log. The log is read once.

import type { FromMemoryWorker, SearchedLog, ToMemoryWorker } from '../calculator/protocol.js';
import { type EngineKind, sizeOf } from '../engine/settings.js';
import type { MemorySearcher } from '../wasm/dedupstore_wasm.js';
import { errorMessage } from './error-message.js';
import { type Engine, loadEngine } from './load-engine.js';
import { chunksOf } from './log-chunks.js';
import { NoKeysError } from './no-keys-error.js';
import { yieldToMessages } from './yield-to-messages.js';

const PROGRESS_MILLISECONDS = 100;

interface ReadLog {
  engine: Engine;
  searcher: MemorySearcher;
}

let log: Promise<ReadLog> | undefined;
/** A search ends when a later one has been requested. */
let lastId = 0;

self.onmessage = ({ data }: MessageEvent<ToMemoryWorker>) => {
  switch (data.kind) {
    case 'open':
      log = read(data.engine, data.log);
      // A search reports a failure.
      log.catch(() => undefined);
      break;
    case 'search':
      lastId = data.id;
      search(data.id, data.search.filters, data.search.maxError).catch((error: unknown) =>
        post({ kind: 'failed', id: data.id, message: errorMessage(error) }),
      );
      break;
  }
};

async function read(kind: EngineKind, request: SearchedLog): Promise<ReadLog> {
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
  return { engine, searcher };
}

async function search(id: number, filters: string[], maxError: number): Promise<void> {
  const read = await log;
  for (const filter of filters) {
    if (read === undefined || id !== lastId) {
      return;
    }
    const { engine, searcher } = read;
    const memory = searcher.search(filter, maxError) ?? null;
    const name = engine.filterName(filter);
    post({ kind: 'found', id, found: { filter, name, memory, oneKeyIn: searcher.oneKeyIn } });
    await yieldToMessages();
  }
  post({ kind: 'finished', id });
}

function post(message: FromMemoryWorker): void {
  self.postMessage(message);
}
