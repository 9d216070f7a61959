// Decompresses gzip, also files of several members, as rotation and `cat a.gz b.gz` write them.
// The browser's decompressor reads one member and rejects what follows, so the bytes are cut
// where another member may start. If a cut was wrong, the member is read again without it.

/** A member's header has ten bytes. */
const HEADER_BYTES = 10;
const MAGIC = [0x1f, 0x8b, 8] as const;
/** The bits of the flags that no compressor sets. */
const RESERVED_FLAGS = 0xe0;
/** Values that compressors write for the compression level. */
const LEVELS = [0, 2, 4];
/** The last known code of an operating system, and that for an unknown one. */
const LAST_SYSTEM = 13;
const UNKNOWN_SYSTEM = 255;

/** Deflate needs at least one byte for so many. */
const MAX_RATIO = 1032;

/** The decompressed size of the last member, as the file ends with it; 0 if it cannot be right. */
export async function lastMemberBytes(content: Blob): Promise<number> {
  const end = await content.slice(-4).arrayBuffer();
  const bytes = end.byteLength === 4 ? new DataView(end).getUint32(0, true) : 0;
  return bytes <= content.size * MAX_RATIO ? bytes : 0;
}

export interface Decompressed {
  bytes: Uint8Array;
  /** The compressed bytes read so far. */
  readBytes: number;
}

export async function* gzipChunks(content: Blob): AsyncGenerator<Decompressed> {
  let input = new MemberInput(content, 0);
  const wrongCuts = new Set<number>();
  let delivered = 0;
  for (let start = 0; start < content.size; ) {
    const reader = input
      .member(wrongCuts)
      .pipeThrough(new DecompressionStream('gzip'))
      .getReader();
    let length = 0;
    try {
      for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
        const before = length;
        length += chunk.value.length;
        if (length > delivered) {
          const bytes = chunk.value.subarray(Math.max(0, delivered - before));
          delivered = length;
          yield { bytes, readBytes: input.offset };
        }
      }
    } catch (error) {
      if (input.cut === undefined) {
        throw error;
      }
      wrongCuts.add(input.cut);
      input = new MemberInput(content, start);
      continue;
    } finally {
      // The consumer may stop before the end. After an error there is nothing to cancel.
      reader.cancel().catch(() => undefined);
    }
    start = input.offset;
    delivered = 0;
  }
}

/** The compressed bytes, member by member. */
class MemberInput {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  #buffer = new Uint8Array();
  #hasEnded = false;
  /** The position in the file of the buffer's first byte. */
  offset: number;
  /** Where the last member was cut; undefined if it ended with the file. */
  cut: number | undefined;

  constructor(content: Blob, start: number) {
    this.#reader = content.slice(start).stream().getReader();
    this.offset = start;
  }

  /** Returns the bytes up to the next header that is not a wrong cut. */
  member(wrongCuts: ReadonlySet<number>): ReadableStream<Uint8Array<ArrayBuffer>> {
    const start = this.offset;
    this.cut = undefined;
    return new ReadableStream({
      pull: async (controller) => {
        await this.#fill();
        const isCut = (index: number) => {
          const at = this.offset + index;
          return at > start && !wrongCuts.has(at) && isHeader(this.#buffer, index);
        };
        const end = this.#hasEnded ? this.#buffer.length : this.#buffer.length - HEADER_BYTES + 1;
        const index = findHeader(this.#buffer, end, isCut) ?? end;
        if (index > 0) {
          controller.enqueue(this.#buffer.slice(0, index));
          this.#buffer = this.#buffer.subarray(index);
          this.offset += index;
        } else {
          this.cut = this.#buffer.length > 0 ? this.offset : undefined;
          controller.close();
        }
      },
      cancel: () => this.#reader.cancel(),
    });
  }

  /** Reads until the buffer has a header and more, or the file ends. */
  async #fill(): Promise<void> {
    while (!this.#hasEnded && this.#buffer.length <= HEADER_BYTES) {
      const { done, value } = await this.#reader.read();
      if (done) {
        this.#hasEnded = true;
      } else {
        const joined = new Uint8Array(this.#buffer.length + value.length);
        joined.set(this.#buffer);
        joined.set(value, this.#buffer.length);
        this.#buffer = joined;
      }
    }
  }
}

function findHeader(
  bytes: Uint8Array,
  end: number,
  isCut: (index: number) => boolean,
): number | undefined {
  for (let at = bytes.indexOf(MAGIC[0]); at >= 0 && at < end; at = bytes.indexOf(MAGIC[0], at + 1)) {
    if (isCut(at)) {
      return at;
    }
  }
  return undefined;
}

/** In compressed data, these bytes occur by chance about once in 200 GB. */
function isHeader(bytes: Uint8Array, at: number): boolean {
  const [flags = RESERVED_FLAGS, level = -1, system = -1] = [3, 8, 9].map((i) => bytes[at + i]);
  return (
    MAGIC.every((byte, index) => bytes[at + index] === byte) &&
    (flags & RESERVED_FLAGS) === 0 &&
    LEVELS.includes(level) &&
    ((system >= 0 && system <= LAST_SYSTEM) || system === UNKNOWN_SYSTEM)
  );
}
