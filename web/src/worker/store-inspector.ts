// Inspects a store in the words of `dedupstore inspect`. The engine asks for the bytes that
// it needs, so a large store is never read as a whole.

import type { StoreFiles } from '../store/protocol.js';
import type { Engine } from './load-engine.js';
import { UnreadableFile } from './file-format.js';
import { decompressedChunksOf } from './log-chunks.js';
import { type TarFile, readTar } from './tar.js';

/** Read beyond the requested bytes, doubled with each request: logs are read piece by piece. */
const READ_AHEAD_BYTES = 32 << 10;

/** A browser keeps this much for a page without trouble. */
const MAX_DECOMPRESSED_BYTES = 1 << 30;
const PIECE_BYTES = 16 << 20;

interface Directory {
  name: string;
  files: Map<string, Blob>;
}

export async function inspectStore(engine: Engine, store: StoreFiles): Promise<string> {
  const { name, files } =
    store.kind === 'tar'
      ? storeIn(store.name, await readTar(await decompressed(store), store.name))
      : { name: store.name, files: new Map(store.files.map((it) => [it.name, it.content])) };
  const inspector = new engine.StoreInspector(name, Math.floor(Date.now() / 1000));
  files.forEach((content, name) => inspector.addFile(name, content.size));
  const requests = new Map<string, number>();
  for (;;) {
    const report = inspector.report();
    const missing = inspector.missingBytes;
    if (report !== undefined || missing === undefined) {
      return report ?? '';
    }
    const { file, offset, length } = missing;
    const earlier = requests.get(file) ?? 0;
    requests.set(file, earlier + 1);
    const readLength = Math.max(length, earlier > 0 ? READ_AHEAD_BYTES * 2 ** earlier : 0);
    const bytes = await read(files.get(file), file, offset, readLength);
    if (bytes.length < length) {
      throw new UnreadableFile(file, 'it became shorter');
    }
    inspector.supply(bytes);
  }
}

async function read(
  content: Blob | undefined,
  name: string,
  offset: number,
  length: number,
): Promise<Uint8Array> {
  try {
    const bytes = await content?.slice(offset, offset + length).arrayBuffer();
    return new Uint8Array(bytes ?? new ArrayBuffer());
  } catch (error) {
    throw new UnreadableFile(name, error);
  }
}

/** Decompresses a tar file if its name says that it is compressed. */
async function decompressed({ name, content }: { name: string; content: Blob }): Promise<Blob> {
  if (!/z$/.test(name)) {
    return content;
  }
  const pieces: Blob[] = [];
  let parts: Uint8Array<ArrayBuffer>[] = [];
  let [partBytes, bytes] = [0, 0];
  for await (const chunk of decompressedChunksOf(content, name)) {
    parts.push(chunk.bytes.slice());
    partBytes += chunk.bytes.length;
    bytes += chunk.bytes.length;
    if (bytes > MAX_DECOMPRESSED_BYTES) {
      throw new Error(
        `${name} is larger than 1 GiB when decompressed: ` +
          'unpack it with `tar xf` and choose the directory.',
      );
    }
    if (partBytes >= PIECE_BYTES) {
      // The browser may move the content of a blob to disk.
      pieces.push(new Blob(parts));
      parts = [];
      partBytes = 0;
    }
  }
  return new Blob([...pieces, ...parts]);
}

/** Finds the one store in a tar file. If there is none, the engine reports what is missing. */
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
    throw new Error(`${tarName} holds several stores (${names}): choose a tar file of one store.`);
  }
  const [name, listed] = stores[0] ?? [tarName, new Map<string, Blob>()];
  return { name: name || tarName.replace(/\.tar$|\.tar\.gz$|\.tgz$/, ''), files: listed };
}
