// Reads and writes tar files with the few plain files of a store. Contents stay in the
// browser's blobs; only headers are handled here.

const BLOCK_BYTES = 512;
/** The offset and length of each header field. */
const FIELD = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  modified: [136, 12],
  checksum: [148, 8],
  kind: [156, 1],
  magic: [257, 8],
  prefix: [345, 155],
} as const;
type Field = keyof typeof FIELD;
/** A store has six files. */
const MAX_ENTRIES = 1000;
/** A name that does not fit in a header has an entry of its own. */
const MAX_NAME_BYTES = 64 << 10;

export interface TarFile {
  /** Includes the directories. */
  path: string;
  content: Blob;
}

/** Returns the plain files of a tar file. */
export async function readTar(tar: Blob, name: string): Promise<TarFile[]> {
  const files: TarFile[] = [];
  let longPath: string | undefined;
  let offset = 0;
  for (let entries = 0; offset + BLOCK_BYTES <= tar.size; entries += 1) {
    if (entries === MAX_ENTRIES) {
      throw new Error(
        `${name} holds more than ${MAX_ENTRIES} files: choose a tar file of one store only.`,
      );
    }
    const header = await bytesOf(tar.slice(offset, offset + BLOCK_BYTES));
    if (header.every((byte) => byte === 0)) {
      return files;
    }
    if (number(header, 'checksum') !== checksumOf(header)) {
      throw new Error(
        offset === 0
          ? `${name} is not a tar file.`
          : `${name} is damaged: there is no valid file header at byte ${offset}.`,
      );
    }
    const size = number(header, 'size');
    const start = offset + BLOCK_BYTES;
    const path = longPath ?? pathOf(header);
    if (!Number.isSafeInteger(start + size) || start + size > tar.size) {
      throw new Error(`${name} is truncated: it ends in the middle of ${path}.`);
    }
    const content = tar.slice(start, start + size);
    const kind = text(header, 'kind');
    longPath = undefined;
    if (kind === 'L' || kind === 'x') {
      const long = await bytesOf(content.slice(0, MAX_NAME_BYTES));
      longPath = kind === 'L' ? untilNul(long) : pathOfRecords(long);
    } else if (kind === '' || kind === '0') {
      files.push({ path, content });
    }
    offset = start + size + padding(size);
  }
  if (offset === 0) {
    throw new Error(`${name} is not a tar file.`);
  }
  if (offset < tar.size) {
    throw new Error(`${name} is truncated: it ends in the middle of a header.`);
  }
  return files;
}

/** Returns a tar file with one directory. */
export function writeTar(directory: string, files: { name: string; content: Blob }[]): Blob {
  const modified = Math.floor(Date.now() / 1000);
  const parts: BlobPart[] = [headerOf(`${directory}/`, 0, '5', modified)];
  for (const { name, content } of files) {
    parts.push(headerOf(`${directory}/${name}`, content.size, '0', modified), content);
    parts.push(new Uint8Array(padding(content.size)));
  }
  parts.push(new Uint8Array(2 * BLOCK_BYTES));
  return new Blob(parts, { type: 'application/x-tar' });
}

function headerOf(path: string, size: number, kind: '0' | '5', modified: number) {
  const header = new Uint8Array(BLOCK_BYTES);
  const put = (field: Field, text: string) =>
    header.set(new TextEncoder().encode(text), FIELD[field][0]);
  const octal = (field: Field, value: number) =>
    put(field, value.toString(8).padStart(FIELD[field][1] - 1, '0'));
  put('name', path);
  octal('mode', kind === '5' ? 0o755 : 0o644);
  octal('uid', 0);
  octal('gid', 0);
  octal('size', size);
  octal('modified', modified);
  put('kind', kind);
  put('magic', 'ustar\u000000');
  put('checksum', `${checksumOf(header).toString(8).padStart(6, '0')}\0 `);
  return header;
}

function padding(size: number): number {
  return (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;
}

/** The sum of all bytes, with blanks in place of the checksum. */
function checksumOf(header: Uint8Array): number {
  const [start, length] = FIELD.checksum;
  return header.reduce(
    (sum, byte, at) => sum + (at >= start && at < start + length ? 0x20 : byte),
    0,
  );
}

function field(header: Uint8Array, field: Field): Uint8Array {
  const [start, length] = FIELD[field];
  return header.subarray(start, start + length);
}

function text(header: Uint8Array, name: Field): string {
  return untilNul(field(header, name));
}

/** Octal digits, or a binary number after the byte 0x80. */
function number(header: Uint8Array, name: Field): number {
  const bytes = field(header, name);
  if (bytes[0] === 0x80) {
    return bytes.subarray(1).reduce((value, byte) => value * 256 + byte, 0);
  }
  const digits = untilNul(bytes).trim();
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : Number.NaN;
}

function pathOf(header: Uint8Array): string {
  const [prefix, name] = [text(header, 'prefix'), text(header, 'name')];
  // GNU's own format stores other data in place of the prefix.
  const hasPrefix = text(header, 'magic') === 'ustar' && prefix !== '';
  return hasPrefix ? `${prefix}/${name}` : name;
}

/** Reads records of the form `LENGTH path=VALUE`. */
function pathOfRecords(bytes: Uint8Array): string | undefined {
  return /^\d+ path=(.*)$/m.exec(new TextDecoder().decode(bytes))?.[1];
}

function untilNul(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}

async function bytesOf(part: Blob): Promise<Uint8Array> {
  return new Uint8Array(await part.arrayBuffer());
}
