// Reads a log in chunks, as fast as the browser can, and decompresses gzip.

const CHUNK_BYTES = 4 << 20;
/** The first bytes of every gzip file, and of every Zstandard file. */
const GZIP_MAGIC = [0x1f, 0x8b];
const ZSTANDARD_MAGIC = [0x28, 0xb5, 0x2f, 0xfd];
/** The mark of a tar file, after the name of its first file. */
const TAR_MAGIC = { at: 257, text: 'ustar' };

/** A file that the browser could not read. */
export class UnreadableFile extends Error {
  constructor(name: string, cause: unknown) {
    super(`${name} could not be read: ${reasonOf(cause)}`, { cause });
  }
}

/** A gzip file that is invalid or truncated. */
class InvalidGzip extends Error {
  constructor(name: string, cause: unknown) {
    super(
      `${name} starts like a gzip file but could not be decompressed: ${reasonOf(cause)} ` +
        'It may be truncated, or contain several gzip files. Check it with `gzip -t`.',
      { cause },
    );
  }
}

/** A file in a format that is not read as a log. */
class UnsupportedFormat extends Error {}

export interface Chunk {
  bytes: Uint8Array;
  /** The bytes of the file read so far, before decompression. */
  readBytes: number;
}

/** Returns the bytes of a log in order. A chunk is valid until the next one is requested. */
export async function* chunksOf(log: Blob, name: string): AsyncGenerator<Chunk> {
  let isFirst = true;
  for await (const chunk of decompressedChunksOf(log, name)) {
    if (isFirst && isTar(chunk.bytes)) {
      throw new UnsupportedFormat(
        `${name} is a tar file, not a log: unpack it with \`tar xf\` and choose the log in it. ` +
          'To inspect a store in a tar file, choose it under “Inspect a store”.',
      );
    }
    isFirst = false;
    yield chunk;
  }
}

/** The same for a file that may be a tar file. */
export async function* decompressedChunksOf(log: Blob, name: string): AsyncGenerator<Chunk> {
  const isCompressed = await isGzip(log, name);
  let readBytes = 0;
  const next = isCompressed
    ? gzipReader(log, (bytes) => {
        readBytes += bytes;
      })
    : plainReader(log.stream());
  for (;;) {
    let chunk: Uint8Array | undefined;
    try {
      chunk = await next();
    } catch (error) {
      throw isCompressed ? new InvalidGzip(name, error) : new UnreadableFile(name, error);
    }
    if (chunk === undefined) {
      return;
    }
    if (!isCompressed) {
      readBytes += chunk.length;
    }
    yield { bytes: chunk, readBytes };
  }
}

/** Returns the first bytes of a log, decompressed. */
export async function headOf(log: Blob, name: string, limit: number): Promise<Uint8Array> {
  const head = new Uint8Array(limit);
  let length = 0;
  const start = (await isGzip(log, name)) ? log : log.slice(0, limit);
  for await (const { bytes } of chunksOf(start, name)) {
    const part = bytes.subarray(0, limit - length);
    head.set(part, length);
    length += part.length;
    if (length === limit) {
      break;
    }
  }
  return head.subarray(0, length);
}

/** The name before the mark ends with a zero byte, which text does not contain. */
function isTar(head: Uint8Array): boolean {
  const { at, text } = TAR_MAGIC;
  const found = head.subarray(at, at + text.length);
  return new TextDecoder().decode(found) === text && head.subarray(0, at).includes(0);
}

/** Fails if the first bytes contradict the name: the content would not be lines of text. */
async function isGzip(log: Blob, name: string): Promise<boolean> {
  let start: Uint8Array;
  try {
    start = new Uint8Array(await log.slice(0, ZSTANDARD_MAGIC.length).arrayBuffer());
  } catch (error) {
    throw new UnreadableFile(name, error);
  }
  const startsWith = (magic: number[]) => magic.every((byte, index) => start[index] === byte);
  if (startsWith(ZSTANDARD_MAGIC)) {
    throw new UnsupportedFormat(
      `${name} is compressed with Zstandard, which browsers cannot read: ` +
        'decompress it with `zstd -d`.',
    );
  }
  if (name.endsWith('.gz') && log.size > 0 && !startsWith(GZIP_MAGIC)) {
    throw new UnsupportedFormat(`${name} ends in .gz but is not a gzip file.`);
  }
  return startsWith(GZIP_MAGIC);
}

type NextChunk = () => Promise<Uint8Array | undefined>;

function gzipReader(log: Blob, reportRead: (bytes: number) => void): NextChunk {
  const counter = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      reportRead(chunk.length);
      controller.enqueue(chunk);
    },
  });
  const stream = log.stream().pipeThrough(counter).pipeThrough(new DecompressionStream('gzip'));
  const reader = stream.getReader();
  return async () => (await reader.read()).value;
}

function plainReader(stream: ReadableStream<Uint8Array<ArrayBuffer>>): NextChunk {
  const byobReader = byobReaderOf(stream);
  if (byobReader === undefined) {
    const reader = stream.getReader();
    return async () => (await reader.read()).value;
  }
  // Each read takes the buffer and returns it filled.
  let buffer = new ArrayBuffer(CHUNK_BYTES);
  return async () => {
    const { done, value } = await byobReader.read(new Uint8Array(buffer));
    if (done || value === undefined) {
      return undefined;
    }
    buffer = value.buffer;
    return value;
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

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
