// A store that has met a log, as a tar. The log is read once more: a run keeps no audit.

import { type StorePart, StorePrimer } from '../wasm/dedupstore_wasm.js';
import type { StoreOrder } from '../store-protocol.js';
import { chunksOf } from './chunks.js';
import { keyChoice } from './key.js';
import { copied } from './plain.js';
import { writeTar } from './tar.js';

const PROGRESS_MILLISECONDS = 100;
const ID_BYTES = 16;
/** Files are mostly zeros: one blob of them, many times over. */
const ZEROS = new Blob([new Uint8Array(1 << 20)]);

export async function prime(
  order: StoreOrder,
  tellShare: (share: number) => void,
): Promise<Blob> {
  const { log, logName, key, filter, memoryBits, seed } = order;
  const primer = copied(
    keyChoice(key),
    (key) => new StorePrimer(filter, memoryBits, seed, key),
  );
  let toldAt = performance.now();
  for await (const { bytes, readBytes } of chunksOf(log, logName)) {
    primer.feed(bytes);
    if (performance.now() - toldAt >= PROGRESS_MILLISECONDS) {
      tellShare(readBytes / log.size);
      toldAt = performance.now();
    }
  }
  const id = crypto.getRandomValues(new Uint8Array(ID_BYTES));
  primer.finish(id, Math.floor(Date.now() / 1000));
  return writeTar(order.name, filesOf(primer));
}

interface Piece {
  offset: number;
  content: Blob;
}

function filesOf(primer: StorePrimer): { name: string; content: Blob }[] {
  const pieces = new Map<string, Piece[]>(primer.fileNames.map((name) => [name, []]));
  for (let part = primer.nextPart(); part !== undefined; part = primer.nextPart()) {
    copied(part, (part) => pieces.get(part.file)?.push(pieceOf(part)));
  }
  const sizes = Array.from(primer.fileBytes);
  return [...pieces].map(([name, pieces], index) => ({
    name,
    content: joined(pieces, sizes[index] ?? 0),
  }));
}

/** In a blob at once: the browser keeps it outside this thread's memory. */
function pieceOf({ offset, bytes }: StorePart): Piece {
  return { offset, content: new Blob([bytes as Uint8Array<ArrayBuffer>]) };
}

/** The pieces where they belong, and zeros around them. */
function joined(pieces: Piece[], size: number): Blob {
  const parts: Blob[] = [];
  let end = 0;
  for (const { offset, content } of pieces.sort((a, b) => a.offset - b.offset)) {
    parts.push(...zeros(offset - end), content);
    end = offset + content.size;
  }
  parts.push(...zeros(size - end));
  return new Blob(parts);
}

function zeros(length: number): Blob[] {
  const whole = Array.from({ length: Math.floor(length / ZEROS.size) }, () => ZEROS);
  return [...whole, ZEROS.slice(0, length % ZEROS.size)];
}
