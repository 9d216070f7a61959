// The engine's thread: runs, and questions about logs and filters. It knows nothing of
// the page.
//
// There is no message to cancel: the page ends this worker and starts another, which
// stops at once whatever the engine is doing and gives all its memory back.

import { generate, misfit } from '../wasm/dedupstore_wasm.js';
import type { Answer, EngineKind, FromWorker, Question, ToWorker } from '../protocol.js';
import { advise } from './advise.js';
import { explain } from './explain.js';
import { Glass } from './inside.js';
import { examine } from './key.js';
import type { FromKeyWorker, ToKeyWorker } from './key-protocol.js';
import { KeySource } from './key-source.js';
import { Keys } from './keys.js';
import { load } from './load.js';
import { Pacer } from './pacer.js';
import { registry } from './plain.js';
import { run } from './run.js';

let kind: EngineKind = 'plain';
let started: Promise<unknown> | undefined;
let pacer: Pacer | undefined;
let glass: Glass | undefined;
let keys: Promise<Keys> | undefined;

/** Loads the engine; one that did not come may come the next time. */
function engine(): Promise<unknown> {
  started ??= load(kind).catch((error: unknown) => {
    started = undefined;
    throw error;
  });
  return started;
}

self.onmessage = ({ data }: MessageEvent<ToWorker | ToKeyWorker>) => {
  switch (data.kind) {
    case 'begin':
      kind = data.engine;
      // Whoever asks first hears if this goes wrong.
      engine().catch(() => undefined);
      break;
    case 'advise':
      engine()
        .then(() => advise(data.order, tell))
        .catch(fail);
      break;
    case 'run': {
      const { order } = data;
      const pace = new Pacer(order.pace);
      pacer = pace;
      // Loads its engine while this one does.
      const source = new KeySource(order);
      engine()
        .then(() => run(order, source, pace, tell))
        .catch(fail);
      break;
    }
    case 'keys':
      keys = engine().then(() => new Keys(data.order));
      // As above.
      keys.catch(() => undefined);
      break;
    case 'more':
      // One after the other, in the order in which they were asked for.
      keys = keys?.then((found) => tellKeys(found, data.lines));
      keys?.catch(fail);
      break;
    case 'inside': {
      const { order } = data;
      const pace = new Pacer(order.pace);
      pacer = pace;
      engine()
        .then(() => {
          glass = new Glass(order, pace, tell);
          return glass.run();
        })
        .catch(fail);
      break;
    }
    case 'pick':
      glass?.pick(data.id);
      break;
    case 'point':
      glass?.point(data.index);
      break;
    case 'pace':
      pacer?.setPace(data.pace);
      break;
    case 'step':
      pacer?.step(data.lines);
      break;
    case 'ask':
      engine()
        .then(() => answer(data.question))
        .then((answer) => tell({ kind: 'answer', id: data.id, answer }))
        .catch((error) => tell({ kind: 'refused', id: data.id, message: explain(error) }));
      break;
  }
};

async function answer(question: Question): Promise<Answer> {
  switch (question.kind) {
    case 'registry':
      return { kind: 'registry', filters: registry() };
    case 'sample': {
      const { stream, count, seed, form } = question.sample;
      const bytes = generate(stream, count, seed, form) as Uint8Array<ArrayBuffer>;
      return { kind: 'sample', log: new Blob([bytes]) };
    }
    case 'misfits':
      return {
        kind: 'misfits',
        misfits: question.entries.map(({ filter, memoryBits }) => misfit(filter, memoryBits) ?? null),
      };
    case 'examine': {
      const { log, name, key } = question;
      return { kind: 'examine', examination: await examine(log, name, key) };
    }
  }
}

async function tellKeys(keys: Keys, lines: number): Promise<Keys> {
  const batch = await keys.more(lines);
  const message: FromKeyWorker = { kind: 'keys', batch };
  self.postMessage(message, { transfer: [batch.fingerprints.buffer, batch.first.buffer] });
  return keys;
}

function fail(error: unknown): void {
  tell({ kind: 'failed', message: explain(error) });
}

function tell(message: FromWorker): void {
  self.postMessage(message);
}
