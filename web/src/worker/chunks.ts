// A log in chunks, as fast as the browser hands it over.

const CHUNK_BYTES = 4 << 20;

/** A log that the browser could not read to its end. */
export class UnreadableLog extends Error {
  constructor(name: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`${name} could not be read: ${reason}`, { cause });
  }
}

/** The bytes of a log in order. A chunk may be overwritten once the next is asked for. */
export async function* chunksOf(log: Blob, name: string): AsyncGenerator<Uint8Array> {
  const next = reader(log.stream());
  for (;;) {
    let chunk: Uint8Array | undefined;
    try {
      chunk = await next();
    } catch (error) {
      throw new UnreadableLog(name, error);
    }
    if (chunk === undefined) {
      return;
    }
    yield chunk;
  }
}

type NextChunk = () => Promise<Uint8Array | undefined>;

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
