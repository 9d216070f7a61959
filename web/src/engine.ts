// The page's end of the engine: a worker for questions, and a fresh one for every run.

import {
  type Answer,
  type EngineKind,
  type FromWorker,
  type Pace,
  type Question,
  type RunOrder,
  type Snapshot,
  type ToWorker,
  engineFor,
} from './protocol.js';

/** What a run reports. After `finished` or `failed` there is nothing more. */
export interface RunListener {
  progress(snapshot: Snapshot, isPaused: boolean): void;
  finished(snapshot: Snapshot): void;
  failed(message: string): void;
}

/** A worker with an engine of its own. */
export function startWorker(engine: EngineKind, hear: (message: FromWorker) => void): Worker {
  const worker = new Worker(new URL('./worker/worker.ts', import.meta.url), { type: 'module' });
  worker.onmessage = (event: MessageEvent<FromWorker>) => hear(event.data);
  worker.onerror = (event) => {
    event.preventDefault();
    const reason = event.message || 'its script did not load';
    hear({ kind: 'failed', message: `The engine could not be started: ${reason}.` });
  };
  worker.postMessage({ kind: 'begin', engine } satisfies ToWorker);
  return worker;
}

/**
 * One run in a worker of its own, which ends with it however it ends: the engine's memory
 * never shrinks, and after a trap it cannot be trusted.
 */
export class Run {
  readonly #listener: RunListener;
  #worker: Worker | undefined;

  constructor(order: RunOrder, listener: RunListener) {
    this.#listener = listener;
    this.#worker = startWorker(engineFor(order.key), (message) => this.#hear(message));
    this.#tell({ kind: 'run', order });
  }

  /** Ends the run at once. It reports nothing more. */
  cancel(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  setPace(pace: Pace): void {
    this.#tell({ kind: 'pace', pace });
  }

  /** So many lines more, then a pause. */
  step(lines: number): void {
    this.#tell({ kind: 'step', lines });
  }

  #tell(message: ToWorker): void {
    this.#worker?.postMessage(message);
  }

  #hear(message: FromWorker): void {
    // What an ended worker had said before its end may still arrive.
    if (this.#worker === undefined) {
      return;
    }
    switch (message.kind) {
      case 'progress':
        this.#listener.progress(message.snapshot, message.isPaused);
        break;
      case 'finished':
        this.cancel();
        this.#listener.finished(message.snapshot);
        break;
      case 'failed':
        this.cancel();
        this.#listener.failed(message.message);
        break;
    }
  }
}

type AnswerTo<Q extends Question> = Extract<Answer, { kind: Q['kind'] }>;

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/** Answers questions, whatever runs are under way. */
export class Clerk {
  readonly #plain = new Desk('plain');
  #complete: Desk | undefined;

  /** Whether the complete engine has been sent for. */
  get isComplete(): boolean {
    return this.#complete !== undefined;
  }

  ask<Q extends Question>(question: Q): Promise<AnswerTo<Q>> {
    if (question.kind !== 'examine') {
      return this.#plain.ask(question);
    }
    if (question.key !== null && engineFor(question.key) === 'complete') {
      this.#complete ??= new Desk('complete');
    }
    // Once it is there, it also says what normalization would do.
    return (this.#complete ?? this.#plain).ask(question);
  }
}

/** A worker that answers one question after another. */
class Desk {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;

  constructor(engine: EngineKind) {
    this.#worker = startWorker(engine, (message) => this.#hear(message));
  }

  ask<Q extends Question>(question: Q): Promise<AnswerTo<Q>> {
    this.#asked += 1;
    const id = this.#asked;
    const message: ToWorker = { kind: 'ask', id, question };
    return new Promise<Answer>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage(message);
    }).then((answer) => answer as AnswerTo<Q>);
  }

  #hear(message: FromWorker): void {
    if (message.kind === 'failed') {
      this.#waiting.forEach(({ reject }) => reject(new Error(message.message)));
      this.#waiting.clear();
    }
    if (message.kind === 'answer' || message.kind === 'refused') {
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.kind === 'answer') {
        waiting?.resolve(message.answer);
      } else {
        waiting?.reject(new Error(message.message));
      }
    }
  }
}
