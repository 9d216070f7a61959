// Answers queries about filters and logs, also while runs are in progress.

import { listen } from './listen.js';
import type { Answer, FromQueryWorker, Query, ToQueryWorker } from './query-protocol.js';
import { type EngineKind, engineFor } from './settings.js';

type AnswerTo<Q extends Query> = Extract<Answer, { kind: Q['kind'] }>;

interface Pending {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/** Sends each query to the engine that can answer it. */
export class QueryClient {
  readonly #plain = new QueryWorker('plain');
  #complete: QueryWorker | undefined;

  /** Called when the complete engine is requested, which has more filters. */
  completeRequested = (): void => undefined;

  /** Whether the complete engine has been requested. */
  get hasComplete(): boolean {
    return this.#complete !== undefined;
  }

  requestComplete(): void {
    if (this.#complete === undefined) {
      this.#complete = new QueryWorker('complete');
      this.completeRequested();
    }
  }

  ask<Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    const isCalculator = query.kind === 'calculate' || query.kind === 'calculatedFilters';
    const isOtherKey =
      query.kind === 'examine' && query.key !== null && engineFor(query.key) === 'complete';
    if (isCalculator || isOtherKey) {
      this.requestComplete();
    }
    // The complete engine also reports the effect of normalization, and has all filters.
    return (this.#complete ?? this.#plain).ask(query);
  }
}

class QueryWorker {
  readonly #worker = new Worker(new URL('../worker/queries.worker.ts', import.meta.url), {
    type: 'module',
  });
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;

  constructor(engine: EngineKind) {
    listen<FromQueryWorker>(
      this.#worker,
      (message) => this.#receive(message),
      (message) => this.#failAll(message),
    );
    this.#post({ kind: 'start', engine });
  }

  ask<Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise<Answer>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#post({ kind: 'query', id, query });
    }).then((answer) => answer as AnswerTo<Q>);
  }

  #post(message: ToQueryWorker): void {
    this.#worker.postMessage(message);
  }

  #receive(message: FromQueryWorker): void {
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.kind === 'answer') {
      pending?.resolve(message.answer);
    } else {
      pending?.reject(new Error(message.message));
    }
  }

  #failAll(message: string): void {
    this.#pending.forEach(({ reject }) => reject(new Error(message)));
    this.#pending.clear();
  }
}
