// A filter that is looked into, line by line, at the pace that is set.

import {
  type ArrivedKey as EngineKey,
  type CellLook as EngineCell,
  Inside,
  type MistakeRow,
} from '../wasm/dedupstore_wasm.js';
import type { ArrivedKey, CellLook, InsideOrder, KeyLook } from '../inside/data.js';
import type { FromWorker } from '../protocol.js';
import { chunksOf } from './chunks.js';
import { keyChoice } from './key.js';
import { NothingToRead } from './nothing-to-read.js';
import type { Pacer } from './pacer.js';
import { withPart } from './part.js';
import { copied } from './plain.js';
import { turn } from './run.js';

/** Keys that wait are kept one by one; so a little at a time. */
const FEED_BYTES = 64 << 10;
const RECENT_KEYS = 12;

export class Glass {
  readonly #order: InsideOrder;
  readonly #pacer: Pacer;
  readonly #tell: (message: FromWorker) => void;
  readonly #inside: Inside;
  #picked: string | null = null;
  #isOver = false;
  /** Where the last view was, and the one before it. */
  #shown = 0;
  #shownBefore = 0;
  #shownAt = 0;

  constructor(order: InsideOrder, pacer: Pacer, tell: (message: FromWorker) => void) {
    this.#order = order;
    this.#pacer = pacer;
    this.#tell = tell;
    const { filter, memoryBits, seed } = order;
    this.#inside = copied(keyChoice(order.key), (key) =>
      withPart(order.part, (part) => new Inside(filter, memoryBits, seed, key, part)),
    );
  }

  pick(id: string | null): void {
    this.#picked = id;
    this.#show();
  }

  point(index: number): void {
    const cell = this.#inside.cellLook(index);
    this.#tell({ kind: 'cell', cell: cell === undefined ? null : copied(cell, plainCell) });
  }

  async run(): Promise<void> {
    const { log, name } = this.#order;
    for await (const { bytes } of chunksOf(log, name)) {
      for (let start = 0; start < bytes.length; start += FEED_BYTES) {
        this.#inside.feed(bytes.subarray(start, start + FEED_BYTES));
        await this.#drain();
      }
      if (this.#inside.isOver) {
        break;
      }
    }
    this.#inside.finish();
    await this.#drain();
    if (this.#inside.position === 0) {
      throw new NothingToRead(this.#order, this.#inside.withoutKey);
    }
    this.#isOver = true;
    this.#show();
  }

  async #drain(): Promise<void> {
    for (;;) {
      while (this.#pacer.mustWait()) {
        if (this.#pacer.isPaused) {
          this.#show();
        }
        await this.#pacer.wait();
      }
      if (this.#inside.advance(this.#pacer.feedLines()) === 0) {
        return;
      }
      const stepIsOver = this.#pacer.reached(this.#inside.position);
      const age = performance.now() - this.#shownAt;
      if (!stepIsOver && age >= this.#order.viewMilliseconds) {
        this.#show();
        await turn();
      }
    }
  }

  #show(): void {
    const inside = this.#inside;
    const { position } = inside;
    if (position !== this.#shown) {
      this.#shownBefore = this.#shown;
      this.#shown = position;
    }
    this.#shownAt = performance.now();
    this.#tell({
      kind: 'inside',
      state: {
        position,
        distinct: inside.distinct,
        load: inside.load,
        isPaused: this.#pacer.isPaused,
        isOver: this.#isOver,
        anatomy: {
          cell: inside.cell,
          row: inside.row,
          rowCells: inside.rowCells,
          most: inside.most,
        },
        values: inside.values(),
        leftAt: inside.leftAt(),
        lostAt: inside.lostAt(),
        since: this.#shownBefore,
        recent: inside.recent(RECENT_KEYS).map((key) => copied(key, plainKey)),
        dropped: { count: inside.dropped, latest: inside.latestDropped().map(mistake) },
        missed: { count: inside.missed, latest: inside.latestMissed().map(mistake) },
        look: this.#look(),
      },
    });
  }

  #look(): KeyLook | null {
    const id = this.#picked;
    if (id === null) {
      return null;
    }
    return copied(this.#inside.lookAt(id), (look) => ({
      id,
      verdict: look.verdict,
      because: look.because,
      cells: look.cells.map((cell) => copied(cell, plainCell)),
    }));
  }
}

function plainKey({ id, key, position, verdict, isRight }: EngineKey): ArrivedKey {
  return { id, key, position, verdict, isRight };
}

function mistake(row: MistakeRow): { arrived: ArrivedKey; reason: string } {
  return copied(row, ({ arrived, reason }) => ({ arrived: copied(arrived, plainKey), reason }));
}

function plainCell({ index, value, isMet, changedAt, leftAt, leftBy }: EngineCell): CellLook {
  const left =
    leftAt === undefined || leftBy === undefined ? null : { position: leftAt, key: leftBy };
  return { index, value, isMet, changedAt, left };
}
