// The keys of a log, found chunk by chunk for a run that asks for them from another worker.

import { KeyFeed } from '../wasm/dedupstore_wasm.js';
import { type Chunk, chunksOf } from './chunks.js';
import { keyChoice } from './key.js';
import type { KeyBatch, KeyOrder } from './key-protocol.js';
import { withPart } from './part.js';
import { copied, lineProfile } from './plain.js';

/** Enough lines to find a clock in. */
const CLOCK_HEAD_BYTES = 64 << 10;
/** How much the engine is fed at a time; a few lines where few are wanted. */
const FEED_BYTES = 64 << 10;
const SMALL_FEED_BYTES = 128;
const FEW_LINES = 2000;
/** As often as a run tells of its progress. */
const PROFILE_MILLISECONDS = 250;

export class Keys {
  readonly #feed: KeyFeed;
  readonly #chunks: AsyncGenerator<Chunk>;
  #chunk: Chunk = { bytes: new Uint8Array(), readBytes: 0 };
  /** How far the chunk has been fed. */
  #start = 0;
  #readBytes = 0;
  #isFirst = true;
  #isLast = false;
  #profiledAt = 0;

  constructor(order: KeyOrder) {
    this.#feed = copied(keyChoice(order.key), (key) =>
      withPart(order.part, (part) => new KeyFeed(order.seed, key, part)),
    );
    this.#chunks = chunksOf(order.log, order.name);
  }

  async more(lines: number): Promise<KeyBatch> {
    const isFew = lines <= FEW_LINES;
    const feedBytes = isFew ? SMALL_FEED_BYTES : FEED_BYTES;
    while (!this.#isLast && this.#feed.waiting < lines) {
      if (this.#start === this.#chunk.bytes.length) {
        await this.#nextChunk();
      } else {
        this.#feedSome(feedBytes);
      }
    }
    const first = this.#feed.judge() as Uint8Array<ArrayBuffer>;
    const fingerprints = this.#feed.take() as BigUint64Array<ArrayBuffer>;
    const isDue = performance.now() - this.#profiledAt >= PROFILE_MILLISECONDS;
    const profile = isFew || isDue || this.#isLast ? this.#profile() : null;
    return { fingerprints, first, readBytes: this.#readBytes, profile, isLast: this.#isLast };
  }

  async #nextChunk(): Promise<void> {
    const { done, value } = await this.#chunks.next();
    if (done === true) {
      this.#feed.finish();
      this.#isLast = true;
      return;
    }
    this.#chunk = value;
    this.#start = 0;
    if (this.#isFirst) {
      this.#feed.lookForClock(value.bytes.subarray(0, CLOCK_HEAD_BYTES));
      this.#isFirst = false;
    }
  }

  #feedSome(most: number): void {
    const { bytes, readBytes } = this.#chunk;
    const end = Math.min(this.#start + most, bytes.length);
    this.#feed.feed(bytes.subarray(this.#start, end));
    // What is packed is longer than what was read of the file.
    const left = (readBytes - this.#readBytes) / (bytes.length - this.#start);
    this.#readBytes += left * (end - this.#start);
    this.#start = end;
    if (this.#feed.isOver) {
      this.#isLast = true;
    }
  }

  #profile(): KeyBatch['profile'] {
    this.#profiledAt = performance.now();
    return copied(this.#feed.profile(), lineProfile);
  }
}
