// A log in chunks, as fast as the browser hands it over, unpacked where it is packed.

const CHUNK_BYTES = 4 << 20;
/** The first bytes of every file packed by gzip, and by Zstandard. */
const GZIP_MAGIC = [0x1f, 0x8b];
const ZSTANDARD_MAGIC = [0x28, 0xb5, 0x2f, 0xfd];

/** A log that the browser could not read to its end. */
export class UnreadableLog extends Error {
  constructor(name: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`${name} could not be read: ${reason}`, { cause });
  }
}

/** A log that calls itself gzip and is not, or is cut short. */
export class BadGzip extends Error {
  constructor(name: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(
      `${name} begins like a gzip file but could not be unpacked to its end: ${reason} ` +
        'Is it cut short, or several files in one? `gzip -t` tells.',
      { cause },
    );
  }
}

/** Several files in one, as every tar since 1988 says of itself, behind a file's name. */
const TAR_MAGIC = { at: 257, text: 'ustar' };

/** A log whose name promises what its bytes do not keep, or that no browser unpacks. */
export class WrongPacking extends Error {}

export interface Chunk {
  bytes: Uint8Array;
  /** How much of the file has been read, packed or not. */
  readBytes: number;
}

/** The bytes of a log in order. A chunk may be overwritten once the next is asked for. */
export async function* chunksOf(log: Blob, name: string): AsyncGenerator<Chunk> {
  let isFirst = true;
  for await (const chunk of unpackedChunksOf(log, name)) {
    if (isFirst && isTar(chunk.bytes)) {
      throw new WrongPacking(
        `${name} is a tar of files, not a log: unpack it by \`tar xf\` and choose the log in it. ` +
          'A store in a tar is looked into below.',
      );
    }
    isFirst = false;
    yield chunk;
  }
}

/** The same of a file that need not be a log. */
export async function* unpackedChunksOf(log: Blob, name: string): AsyncGenerator<Chunk> {
  const isPacked = await isGzip(log, name);
  let readBytes = 0;
  const next = isPacked
    ? packedReader(log, (bytes) => {
        readBytes += bytes;
      })
    : reader(log.stream());
  for (;;) {
    let chunk: Uint8Array | undefined;
    try {
      chunk = await next();
    } catch (error) {
      throw isPacked ? new BadGzip(name, error) : new UnreadableLog(name, error);
    }
    if (chunk === undefined) {
      return;
    }
    if (!isPacked) {
      readBytes += chunk.length;
    }
    yield { bytes: chunk, readBytes };
  }
}

/** The first bytes of a log, unpacked. */
export async function headOf(log: Blob, name: string, most: number): Promise<Uint8Array> {
  const head = new Uint8Array(most);
  let length = 0;
  const start = (await isGzip(log, name)) ? log : log.slice(0, most);
  for await (const { bytes } of chunksOf(start, name)) {
    const part = bytes.subarray(0, most - length);
    head.set(part, length);
    length += part.length;
    if (length === most) {
      break;
    }
  }
  return head.subarray(0, length);
}

/** A name ends before the magic, in bytes that no text has. */
function isTar(head: Uint8Array): boolean {
  const { at, text } = TAR_MAGIC;
  const found = head.subarray(at, at + text.length);
  return new TextDecoder().decode(found) === text && head.subarray(0, at).includes(0);
}

/** Told by its first bytes; to read on where they and its name disagree would be to take
 * garbage for keys. */
async function isGzip(log: Blob, name: string): Promise<boolean> {
  let start: Uint8Array;
  try {
    start = new Uint8Array(await log.slice(0, ZSTANDARD_MAGIC.length).arrayBuffer());
  } catch (error) {
    throw new UnreadableLog(name, error);
  }
  const begins = (magic: number[]) => magic.every((byte, index) => start[index] === byte);
  if (begins(ZSTANDARD_MAGIC)) {
    throw new WrongPacking(
      `${name} is packed by Zstandard, which browsers cannot unpack: \`zstd -d\` does.`,
    );
  }
  if (name.endsWith('.gz') && log.size > 0 && !begins(GZIP_MAGIC)) {
    throw new WrongPacking(`${name} ends in .gz and does not begin like a gzip file.`);
  }
  return begins(GZIP_MAGIC);
}

type NextChunk = () => Promise<Uint8Array | undefined>;

function packedReader(log: Blob, tellRead: (bytes: number) => void): NextChunk {
  const counting = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      tellRead(chunk.length);
      controller.enqueue(chunk);
    },
  });
  const unpacked = log.stream().pipeThrough(counting).pipeThrough(new DecompressionStream('gzip'));
  const reader = unpacked.getReader();
  return async () => (await reader.read()).value;
}

function reader(stream: ReadableStream<Uint8Array<ArrayBuffer>>): NextChunk {
  const filling = fillingReader(stream);
  if (filling === undefined) {
    const reader = stream.getReader();
    return async () => (await reader.read()).value;
  }
  // One buffer goes back and forth: each read takes it away and returns it filled.
  let buffer = new ArrayBuffer(CHUNK_BYTES);
  return async () => {
    const { done, value } = await filling.read(new Uint8Array(buffer));
    if (done || value === undefined) {
      return undefined;
    }
    buffer = value.buffer;
    return value;
  };
}

/** A reader that fills a buffer of ours: twice as fast, but not every browser has it. */
function fillingReader(stream: ReadableStream): ReadableStreamBYOBReader | undefined {
  try {
    return stream.getReader({ mode: 'byob' });
  } catch {
    return undefined;
  }
}
