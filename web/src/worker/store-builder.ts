// Builds a store that has observed a log, as a tar file. The log is read again: a run keeps
// no audit.

import { sizeOf } from '../engine/settings.js';
import type { BuildRequest } from '../store/protocol.js';
import type { StoreBuilder } from '../wasm/dedupstore_wasm.js';
import type { Engine } from './load-engine.js';
import { chunksOf } from './log-chunks.js';
import { writeTar } from './tar.js';

const PROGRESS_MILLISECONDS = 100;
const ID_BYTES = 16;
/** Most of a store's files is zeros: this blob is repeated. */
const ZEROS = new Blob([new Uint8Array(1 << 20)]);

export async function buildStore(
  engine: Engine,
  request: BuildRequest,
  reportShare: (share: number) => void,
): Promise<Blob> {
  const { log, key, filter, memoryBits, seed } = request;
  const builder = new engine.StoreBuilder(filter, memoryBits, seed, key);
  let reportedAt = performance.now();
  for await (const { bytes, readBytes } of chunksOf(log)) {
    builder.feed(bytes);
    if (performance.now() - reportedAt >= PROGRESS_MILLISECONDS) {
      reportShare(readBytes / sizeOf(log));
      reportedAt = performance.now();
    }
  }
  const id = crypto.getRandomValues(new Uint8Array(ID_BYTES));
  builder.finish(id, Math.floor(Date.now() / 1000));
  return writeTar(request.name, filesOf(builder));
}

interface Part {
  offset: number;
  content: Blob;
}

function filesOf(builder: StoreBuilder): { name: string; content: Blob }[] {
  const files = builder.files();
  const parts = new Map<string, Part[]>(files.map(({ name }) => [name, []]));
  for (let part = builder.nextPart(); part !== undefined; part = builder.nextPart()) {
    // The browser keeps a blob outside this thread's memory.
    const content = new Blob([builder.takePartBytes() as Uint8Array<ArrayBuffer>]);
    parts.get(part.file)?.push({ offset: part.offset, content });
  }
  return files.map(({ name, bytes }) => ({ name, content: join(parts.get(name) ?? [], bytes) }));
}

/** Puts the parts at their offsets, with zeros between them. */
function join(parts: Part[], size: number): Blob {
  const blobs: Blob[] = [];
  let end = 0;
  for (const { offset, content } of parts.sort((a, b) => a.offset - b.offset)) {
    blobs.push(...zeros(offset - end), content);
    end = offset + content.size;
  }
  blobs.push(...zeros(size - end));
  return new Blob(blobs);
}

function zeros(length: number): Blob[] {
  const whole = Array.from({ length: Math.floor(length / ZEROS.size) }, () => ZEROS);
  return [...whole, ZEROS.slice(0, length % ZEROS.size)];
}
