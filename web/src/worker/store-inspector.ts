// What a store says of itself, in the words of `dedupstore inspect`. The engine asks for
// the bytes it needs; a large store is never read whole.

import { StoreLook } from '../wasm/dedupstore_wasm.js';
import type { GivenStore } from '../store-protocol.js';
import { UnreadableLog, unpackedChunksOf } from './chunks.js';
import { type TarFile, readTar } from './tar.js';

/** Read beyond what is asked for, twice as much each time: a log is asked for piece by piece. */
const AHEAD_BYTES = 32 << 10;

/** As much as a browser keeps for a page without a thought. */
const MOST_UNPACKED_BYTES = 1 << 30;
const PIECE_BYTES = 16 << 20;

interface Directory {
  name: string;
  files: Map<string, Blob>;
}

export async function lookInto(store: GivenStore): Promise<string> {
  const { name, files } =
    store.kind === 'tar'
      ? storeIn(store.name, await readTar(await unpacked(store), store.name))
      : { name: store.name, files: new Map(store.files.map((it) => [it.name, it.content])) };
  const look = new StoreLook(name, Math.floor(Date.now() / 1000));
  try {
    files.forEach((content, name) => look.add(name, content.size));
    const asked = new Map<string, number>();
    for (;;) {
      const report = look.report();
      if (report !== undefined) {
        return report;
      }
      const file = look.wantedFile ?? '';
      const times = asked.get(file) ?? 0;
      asked.set(file, times + 1);
      const length = Math.max(look.wantedLength, times > 0 ? AHEAD_BYTES * 2 ** times : 0);
      look.supply(await read(files.get(file), file, look.wantedOffset, length, look.wantedLength));
    }
  } finally {
    look.free();
  }
}

async function read(
  content: Blob | undefined,
  name: string,
  offset: number,
  length: number,
  least: number,
): Promise<Uint8Array> {
  let bytes: ArrayBuffer | undefined;
  try {
    bytes = await content?.slice(offset, offset + length).arrayBuffer();
  } catch (error) {
    throw new UnreadableLog(name, error);
  }
  if (bytes === undefined || bytes.byteLength < least) {
    throw new UnreadableLog(name, 'it has become shorter');
  }
  return new Uint8Array(bytes);
}

/** A tar as it is, or as it was before gzip packed it. */
async function unpacked({ name, content }: { name: string; content: Blob }): Promise<Blob> {
  if (!/z$/.test(name)) {
    return content;
  }
  const pieces: Blob[] = [];
  let parts: Uint8Array<ArrayBuffer>[] = [];
  let [partBytes, bytes] = [0, 0];
  for await (const chunk of unpackedChunksOf(content, name)) {
    parts.push(chunk.bytes.slice());
    partBytes += chunk.bytes.length;
    bytes += chunk.bytes.length;
    if (bytes > MOST_UNPACKED_BYTES) {
      throw new Error(
        `${name} unpacks to more than 1 GiB: unpack it by \`tar xf\` and choose the directory in it.`,
      );
    }
    if (partBytes >= PIECE_BYTES) {
      // The browser may put what is in a blob on disk.
      pieces.push(new Blob(parts));
      parts = [];
      partBytes = 0;
    }
  }
  return new Blob([...pieces, ...parts]);
}

/** The one directory of a tar that is a store; what is none is left to the engine to name. */
function storeIn(tarName: string, files: TarFile[]): Directory {
  const directories = new Map<string, Map<string, Blob>>();
  for (const { path, content } of files) {
    const parts = path.split('/').filter((part) => part !== '' && part !== '.');
    const file = parts.pop() ?? '';
    const directory = parts.join('/');
    const listed = directories.get(directory) ?? new Map<string, Blob>();
    directories.set(directory, listed.set(file, content));
  }
  const stores = [...directories].filter(
    ([, files]) => files.has('image.0') || files.has('image.1'),
  );
  if (stores.length > 1) {
    const names = stores.map(([name]) => name).join(', ');
    throw new Error(`${tarName} holds several stores (${names}): make a tar of one.`);
  }
  const [name, listed] = stores[0] ?? [tarName, new Map<string, Blob>()];
  return { name: name || tarName.replace(/\.tar$|\.tar\.gz$|\.tgz$/, ''), files: listed };
}
