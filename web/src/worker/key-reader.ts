// Reads a log chunk by chunk and returns its keys in batches.

import type { KeyFeed } from '../wasm/dedupstore_wasm.js';
import type { KeyBatch, KeyRequest } from './key-protocol.js';
import { type Engine, engineBytes } from './load-engine.js';
import { type Chunk, chunksOf } from './log-chunks.js';

/** Enough lines to detect a time in them. */
const CLOCK_HEAD_BYTES = 64 << 10;
/** The engine is fed in small pieces if few lines are wanted. */
const FEED_BYTES = 64 << 10;
const SMALL_FEED_BYTES = 128;
const FEW_LINES = 2000;
/** The interval at which a run reports progress. */
const PROFILE_MILLISECONDS = 250;

export class KeyReader {
  readonly #feed: KeyFeed;
  readonly #chunks: AsyncGenerator<Chunk>;
  #chunk: Chunk = { bytes: new Uint8Array(), readBytes: 0 };
  /** The number of bytes of the chunk that were fed. */
  #fedBytes = 0;
  #readBytes = 0;
  #isFirst = true;
  #isLast = false;
  #profiledAt = 0;

  constructor(engine: Engine, request: KeyRequest) {
    this.#feed = new engine.KeyFeed(request.seed, request.key, request.part);
    this.#chunks = chunksOf(request.log);
  }

  async next(lines: number): Promise<KeyBatch> {
    const isFew = lines <= FEW_LINES;
    const feedBytes = isFew ? SMALL_FEED_BYTES : FEED_BYTES;
    while (!this.#isLast && this.#feed.pending < lines) {
      if (this.#fedBytes === this.#chunk.bytes.length) {
        await this.#nextChunk();
      } else {
        this.#feedSome(feedBytes);
      }
    }
    const first = this.#feed.markFirst() as Uint8Array<ArrayBuffer>;
    const fingerprints = this.#feed.takeFingerprints() as BigUint64Array<ArrayBuffer>;
    const importance = this.#feed.takeImportance() as Uint16Array<ArrayBuffer>;
    const isDue = performance.now() - this.#profiledAt >= PROFILE_MILLISECONDS;
    const profile = isFew || isDue || this.#isLast ? this.#profile() : null;
    const [readBytes, isLast] = [this.#readBytes, this.#isLast];
    return {
      fingerprints,
      first,
      importance,
      readBytes,
      profile,
      isLast,
      engineBytes: engineBytes(),
    };
  }

  /** Closes the log and frees the engine's memory. */
  async close(): Promise<void> {
    this.#feed.free();
    await this.#chunks.return(undefined);
  }

  async #nextChunk(): Promise<void> {
    const { done, value } = await this.#chunks.next();
    if (done === true) {
      this.#feed.finish();
      this.#isLast = true;
      return;
    }
    this.#chunk = value;
    this.#fedBytes = 0;
    if (this.#isFirst) {
      this.#feed.detectClock(value.bytes.subarray(0, CLOCK_HEAD_BYTES));
      this.#isFirst = false;
    }
  }

  #feedSome(limit: number): void {
    const { bytes, readBytes } = this.#chunk;
    const end = Math.min(this.#fedBytes + limit, bytes.length);
    this.#feed.feed(bytes.subarray(this.#fedBytes, end));
    // A decompressed chunk is longer than the bytes read from the file.
    const readPerByte = (readBytes - this.#readBytes) / (bytes.length - this.#fedBytes);
    this.#readBytes += readPerByte * (end - this.#fedBytes);
    this.#fedBytes = end;
    if (this.#feed.isComplete) {
      this.#isLast = true;
    }
  }

  #profile(): KeyBatch['profile'] {
    this.#profiledAt = performance.now();
    return this.#feed.profile();
  }
}
