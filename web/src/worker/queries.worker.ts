// Answers queries about filters and logs.

import type { Answer, FromQueryWorker, Query, ToQueryWorker } from '../engine/query-protocol.js';
import type { EngineKind } from '../engine/settings.js';
import { errorMessage } from './error-message.js';
import { type Engine, loadEngine } from './load-engine.js';
import { headOf } from './log-chunks.js';

/** Enough lines to recognize the format and to measure the effect of normalization. */
const HEAD_BYTES = 512 << 10;
const PREVIEW_ROWS = 6;

let kind: EngineKind = 'plain';
let engine: Promise<Engine> | undefined;

self.onmessage = ({ data }: MessageEvent<ToQueryWorker>) => {
  switch (data.kind) {
    case 'start':
      kind = data.engine;
      // The next query reports a failure.
      load().catch(() => undefined);
      break;
    case 'query': {
      const { id, query } = data;
      load()
        .then((engine) => answer(engine, query))
        .then((answer) => post({ kind: 'answer', id, answer }))
        .catch((error) => post({ kind: 'failed', id, message: errorMessage(error) }));
      break;
    }
  }
};

/** After a failure, the next call tries again. */
function load(): Promise<Engine> {
  engine ??= loadEngine(kind).catch((error: unknown) => {
    engine = undefined;
    throw error;
  });
  return engine;
}

async function answer(engine: Engine, query: Query): Promise<Answer> {
  switch (query.kind) {
    case 'filters':
      return { kind: 'filters', filters: engine.filters() };
    case 'generate': {
      const { stream, count, seed, form } = query.sample;
      const bytes = engine.generate(stream, count, seed, form) as Uint8Array<ArrayBuffer>;
      return { kind: 'generate', log: new Blob([bytes]) };
    }
    case 'checkSettings': {
      const errors = query.settings.map(
        ({ filter, memoryBits }) => engine.checkSetting(filter, memoryBits, query.part) ?? null,
      );
      return { kind: 'checkSettings', errors };
    }
    case 'examine': {
      const head = await headOf(query.log, query.name, HEAD_BYTES);
      const totalBytes = head.length < HEAD_BYTES ? head.length : decompressedBytes(query);
      const examination = engine.examineLog(head, query.key, PREVIEW_ROWS, totalBytes);
      return { kind: 'examine', examination };
    }
  }
}

/** An estimate: logs are compressed to about a sixth. */
function decompressedBytes({ log, name }: { log: Blob; name: string }): number {
  return /\.gz$/i.test(name) ? log.size * 6 : log.size;
}

function post(message: FromQueryWorker): void {
  self.postMessage(message);
}
