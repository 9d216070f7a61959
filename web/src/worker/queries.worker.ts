// Answers queries about filters and logs.

import type {
  Answer,
  CalculatorResult,
  FromQueryWorker,
  Query,
  ToQueryWorker,
} from '../engine/query-protocol.js';
import type { EngineKind } from '../engine/settings.js';
import type { CalculatorInput } from '../wasm/dedupstore_wasm.js';
import { errorMessage } from './error-message.js';
import { type Engine, loadEngine } from './load-engine.js';
import { type Head, headOf } from './log-chunks.js';

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
    case 'calculate': {
      const results = query.filters.map((filter) => calculated(engine, filter, query.given));
      return { kind: 'calculate', results };
    }
    case 'calculatedFilters':
      return { kind: 'calculatedFilters', filters: engine.calculatedFilters() };
    case 'examine': {
      let head: Head;
      try {
        head = await headOf(query.log, HEAD_BYTES);
      } catch (error) {
        return { kind: 'examine', examination: null, logError: errorMessage(error) };
      }
      const { bytes, totalBytes } = head;
      const examination = engine.examineLog(bytes, query.key, PREVIEW_ROWS, totalBytes);
      return { kind: 'examine', examination, logError: null };
    }
  }
}

function calculated(engine: Engine, name: string, given: CalculatorInput): CalculatorResult {
  try {
    return { name, calculated: engine.calculateFilter(name, given), error: null };
  } catch (error) {
    return { name, calculated: null, error: errorMessage(error) };
  }
}

function post(message: FromQueryWorker): void {
  self.postMessage(message);
}
