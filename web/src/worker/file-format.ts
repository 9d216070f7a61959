// Recognizes files by their first bytes, so that a file that cannot be read as lines of text
// is called by its name.

const GZIP_MAGIC = [0x1f, 0x8b];
/** Enough for every mark, and to recognize UTF-16 without one. */
const HEAD_BYTES = 512;
/** The mark of a tar file, after the name of its first file. */
const TAR_MAGIC = { at: 257, text: 'ustar' };

/** Formats that browsers cannot decompress. The command line reads the first four. */
const COMPRESSED = [
  { name: 'Zstandard', magic: [0x28, 0xb5, 0x2f, 0xfd], command: 'zstd -d' },
  { name: 'xz', magic: [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0], command: 'xz -dk' },
  { name: 'bzip2', magic: [0x42, 0x5a, 0x68], command: 'bunzip2 -k' },
  { name: 'LZ4', magic: [0x04, 0x22, 0x4d, 0x18], command: 'lz4 -d' },
];
const ARCHIVES = [
  { name: 'a zip archive', magic: [0x50, 0x4b, 3, 4], command: 'unzip' },
  { name: 'a 7z archive', magic: [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c], command: '7z x' },
];
/** The share of zero bytes in every second place from which text is taken for UTF-16. */
const UTF_16_SHARE = 0.4;

/** A file that the browser could not read. */
export class UnreadableFile extends Error {
  constructor(name: string, cause: unknown) {
    super(`${name} could not be read: ${reasonOf(cause)}`, { cause });
  }
}

/** A file in a format that is not read as a log. */
export class UnsupportedFormat extends Error {}

/** Returns how the file is stored. Fails if its content cannot be lines of text. */
export async function storageOf(content: Blob, name: string): Promise<'plain' | 'gzip'> {
  let head: Uint8Array;
  try {
    head = new Uint8Array(await content.slice(0, HEAD_BYTES).arrayBuffer());
  } catch (error) {
    throw new UnreadableFile(name, error);
  }
  const startsWith = ({ magic }: { magic: number[] }) =>
    magic.every((byte, index) => head[index] === byte);
  if (startsWith({ magic: GZIP_MAGIC })) {
    return 'gzip';
  }
  const compressed = COMPRESSED.find(startsWith);
  if (compressed !== undefined) {
    throw new UnsupportedFormat(
      `${name} is compressed with ${compressed.name}, which browsers cannot read: decompress it ` +
        `with \`${compressed.command}\`, or use the command line, which reads it.`,
    );
  }
  const archive = ARCHIVES.find(startsWith);
  if (archive !== undefined) {
    throw new UnsupportedFormat(
      `${name} is ${archive.name}, not a log: unpack it with \`${archive.command}\` and choose ` +
        'the log in it.',
    );
  }
  const encoding = utf16In(head);
  if (encoding !== undefined) {
    throw new UnsupportedFormat(
      `${name} is ${encoding} text, and keys are compared as UTF-8: convert it with ` +
        `\`iconv -f ${encoding} -t UTF-8\`.`,
    );
  }
  if (name.endsWith('.gz') && content.size > 0) {
    throw new UnsupportedFormat(`${name} ends in .gz but is not a gzip file.`);
  }
  return 'plain';
}

/** Fails if a log begins like a tar file. */
export function rejectTar(head: Uint8Array, name: string): void {
  if (isTar(head)) {
    throw new UnsupportedFormat(
      `${name} is a tar file, not a log: unpack it with \`tar xf\` and choose the log in it. ` +
        'To inspect a store in a tar file, choose it under “Inspect a store”.',
    );
  }
}

/** The name before the mark ends with a zero byte, which text does not contain. */
function isTar(head: Uint8Array): boolean {
  const { at, text } = TAR_MAGIC;
  const found = head.subarray(at, at + text.length);
  return new TextDecoder().decode(found) === text && head.subarray(0, at).includes(0);
}

/** UTF-16 starts with a byte order mark, or has a zero byte in most second places. */
function utf16In(head: Uint8Array): 'UTF-16' | 'UTF-16LE' | 'UTF-16BE' | undefined {
  const [first, second] = head;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    return 'UTF-16';
  }
  const zeros = [0, 0];
  head.forEach((byte, index) => {
    if (byte === 0) {
      zeros[index % 2] = (zeros[index % 2] ?? 0) + 1;
    }
  });
  const [even = 0, odd = 0] = zeros.map((count) => count / (head.length / 2));
  if (odd >= UTF_16_SHARE && even === 0) {
    return 'UTF-16LE';
  }
  return even >= UTF_16_SHARE && odd === 0 ? 'UTF-16BE' : undefined;
}

export function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
