// Reads a log in chunks, as fast as the browser can, and decompresses gzip.

import type { LogFiles } from '../engine/settings.js';
import { UnreadableFile, reasonOf, rejectTar, storageOf } from './file-format.js';

const CHUNK_BYTES = 4 << 20;
const NEWLINE = 10;

/** A gzip file that is invalid or truncated. */
class InvalidGzip extends Error {
  constructor(name: string, cause: unknown) {
    super(
      `${name} starts like a gzip file but could not be decompressed: ${reasonOf(cause)} ` +
        'It may be truncated. Check it with `gzip -t`.',
      { cause },
    );
  }
}

export interface Chunk {
  bytes: Uint8Array;
  /** The bytes read so far, before decompression. */
  readBytes: number;
}

/** Returns the bytes of a log in order. A chunk is valid until the next one is requested. */
export async function* chunksOf(log: LogFiles): AsyncGenerator<Chunk> {
  let earlierBytes = 0;
  let lastByte = NEWLINE;
  for (const { name, content } of log) {
    let isFirst = true;
    for await (const { bytes, readBytes } of decompressedChunksOf(content, name)) {
      if (isFirst) {
        rejectTar(bytes, name);
        // The end of a file ends its last line.
        if (lastByte !== NEWLINE) {
          yield { bytes: new Uint8Array([NEWLINE]), readBytes: earlierBytes };
        }
      }
      isFirst = false;
      lastByte = bytes.at(-1) ?? lastByte;
      yield { bytes, readBytes: earlierBytes + readBytes };
    }
    earlierBytes += content.size;
  }
}

/** Returns the bytes of one file, which may be a tar file. */
export async function* decompressedChunksOf(content: Blob, name: string): AsyncGenerator<Chunk> {
  const isCompressed = (await storageOf(content, name)) === 'gzip';
  try {
    if (isCompressed) {
      // A first visit does not need it.
      const { gzipChunks } = await import('./gzip-members.js');
      yield* gzipChunks(content);
    } else {
      yield* plainChunks(content);
    }
  } catch (error) {
    throw isCompressed ? new InvalidGzip(name, error) : new UnreadableFile(name, error);
  }
}

/** The first bytes of a log, decompressed. */
export interface Head {
  bytes: Uint8Array;
  /** The size of the decompressed log; an estimate if the log is longer than the head. */
  totalBytes: number;
}

export async function headOf(log: LogFiles, limit: number): Promise<Head> {
  const head = new Uint8Array(limit);
  let length = 0;
  let decompressed = 0;
  for await (const { bytes, readBytes } of chunksOf(log)) {
    const part = bytes.subarray(0, limit - length);
    head.set(part, length);
    length += part.length;
    decompressed += bytes.length;
    if (length === limit) {
      return { bytes: head, totalBytes: await decompressedSize(log, decompressed / readBytes) };
    }
  }
  return { bytes: head.subarray(0, length), totalBytes: length };
}

/** Estimates the size of a log from the bytes per stored byte at its start. */
async function decompressedSize(log: LogFiles, bytesPerByte: number): Promise<number> {
  let sum = 0;
  for (const { name, content } of log) {
    if ((await storageOf(content, name)) === 'gzip') {
      // The decompressor reads ahead, so that the ratio is too small at the start.
      const { lastMemberBytes } = await import('./gzip-members.js');
      sum += Math.max(content.size * bytesPerByte, await lastMemberBytes(content));
    } else {
      sum += content.size;
    }
  }
  return sum;
}

async function* plainChunks(content: Blob): AsyncGenerator<Chunk> {
  const reader = readerOf(content.stream());
  let readBytes = 0;
  try {
    for (let bytes = await reader.next(); bytes !== undefined; bytes = await reader.next()) {
      readBytes += bytes.length;
      yield { bytes, readBytes };
    }
  } finally {
    // The consumer may stop before the end. After an error there is nothing to cancel.
    reader.cancel().catch(() => undefined);
  }
}

interface Reader {
  next(): Promise<Uint8Array | undefined>;
  cancel(): Promise<void>;
}

function readerOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Reader {
  const byobReader = byobReaderOf(stream);
  if (byobReader === undefined) {
    const reader = stream.getReader();
    return { next: async () => (await reader.read()).value, cancel: () => reader.cancel() };
  }
  // Each read takes the buffer and returns it filled.
  let buffer = new ArrayBuffer(CHUNK_BYTES);
  return {
    async next() {
      const { done, value } = await byobReader.read(new Uint8Array(buffer));
      if (done || value === undefined) {
        return undefined;
      }
      buffer = value.buffer;
      return value;
    },
    cancel: () => byobReader.cancel(),
  };
}

/** A reader that fills our buffer: twice as fast, but not every browser has it. */
function byobReaderOf(stream: ReadableStream): ReadableStreamBYOBReader | undefined {
  try {
    return stream.getReader({ mode: 'byob' });
  } catch {
    return undefined;
  }
}
