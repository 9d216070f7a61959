// Plays a log through one small filter, line by line, at the chosen pace.

import type { FromInsideWorker, InsideRequest } from '../inside/protocol.js';
import type { WatchedFilter } from '../wasm/dedupstore_wasm.js';
import type { Engine } from './load-engine.js';
import { chunksOf } from './log-chunks.js';
import { NoKeysError } from './no-keys-error.js';
import type { Pacer } from './pacer.js';
import { yieldToMessages } from './yield-to-messages.js';

/** The engine keeps pending keys one by one, so it is fed in small pieces. */
const FEED_BYTES = 64 << 10;
const RECENT_KEYS = 12;

export class FilterPlayer {
  readonly #request: InsideRequest;
  readonly #pacer: Pacer;
  readonly #post: (message: FromInsideWorker) => void;
  readonly #filter: WatchedFilter;
  #selectedId: string | null = null;
  #isFinished = false;
  /** The positions of the latest two states. */
  #position = 0;
  #previousPosition = 0;
  #postedAt = 0;

  constructor(
    engine: Engine,
    request: InsideRequest,
    pacer: Pacer,
    post: (message: FromInsideWorker) => void,
  ) {
    this.#request = request;
    this.#pacer = pacer;
    this.#post = post;
    const { filter, memoryBits, seed, key, part } = request;
    this.#filter = new engine.WatchedFilter(filter, memoryBits, seed, key, part);
  }

  selectKey(id: string | null): void {
    this.#selectedId = id;
    this.#postState();
  }

  describeCell(index: number): void {
    this.#post({ kind: 'cell', cell: this.#filter.cellDetails(index) ?? null });
  }

  async run(): Promise<void> {
    for await (const { bytes } of chunksOf(this.#request.log)) {
      for (let start = 0; start < bytes.length; start += FEED_BYTES) {
        this.#filter.feed(bytes.subarray(start, start + FEED_BYTES));
        await this.#observePending();
      }
      if (this.#filter.isComplete) {
        break;
      }
    }
    this.#filter.finish();
    await this.#observePending();
    if (this.#filter.position === 0) {
      throw new NoKeysError(this.#request, this.#filter.linesWithoutKey);
    }
    this.#isFinished = true;
    this.#postState();
  }

  async #observePending(): Promise<void> {
    for (;;) {
      while (this.#pacer.mustWait()) {
        if (this.#pacer.isPaused) {
          this.#postState();
        }
        await this.#pacer.wait();
      }
      if (this.#filter.advance(this.#pacer.recordedLines()) === 0) {
        return;
      }
      const stepHasEnded = this.#pacer.advanceTo(this.#filter.position);
      const age = performance.now() - this.#postedAt;
      if (!stepHasEnded && age >= this.#request.stateMilliseconds) {
        this.#postState();
        await yieldToMessages();
      }
    }
  }

  #postState(): void {
    const state = this.#filter.state(RECENT_KEYS, this.#selectedId);
    if (state.position !== this.#position) {
      this.#previousPosition = this.#position;
      this.#position = state.position;
    }
    this.#postedAt = performance.now();
    this.#post({
      kind: 'state',
      state: {
        ...state,
        isPaused: this.#pacer.isPaused,
        isFinished: this.#isFinished,
        previousPosition: this.#previousPosition,
      },
    });
  }
}
