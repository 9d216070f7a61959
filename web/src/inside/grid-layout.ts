// The position of each cell in the picture. Cells of a row stay together: short rows are
// placed side by side, long rows are broken into several lines.

import type { CellLayout } from '../wasm/dedupstore_wasm.js';

const GAP = 2;
const ROW_GAP = 10;
/** Space for the outlines of the outermost cells. */
const MARGIN = 3;
/** A picture of about this height fits without scrolling. */
const PREFERRED_HEIGHT = 420;
const MIN_BIT_SIZE = 5;
const MAX_BIT_SIZE = 16;
const TEXT_HEIGHT = 22;
const DIGIT_WIDTH = 7.2;
/** Only the first digits of larger values are shown. */
const SHOWN_DIGITS = 4;

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export class GridLayout {
  readonly height: number;
  readonly #rowCells: number;
  readonly #count: number;
  readonly #cell: { width: number; height: number };
  /** Cells per line, lines per row, and rows side by side. */
  readonly #columns: number;
  readonly #lines: number;
  readonly #across: number;

  constructor(
    cells: CellLayout,
    count: number,
    fullWidth: number,
    wantedColumns?: number,
  ) {
    const width = fullWidth - 2 * MARGIN;
    this.#rowCells = cells.rowCells;
    this.#count = count;
    this.#cell = isBit(cells)
      ? bitSize(count, width, wantedColumns)
      : { width: Math.max(TEXT_HEIGHT, shownDigits(cells) * DIGIT_WIDTH + 5), height: TEXT_HEIGHT };
    const fitting = Math.max(1, Math.floor((width + GAP) / (this.#cell.width + GAP)));
    // A multiple of eight is easier to count.
    const columns = wantedColumns ?? (fitting >= 24 ? fitting - (fitting % 8) : fitting);
    this.#columns = Math.min(cells.rowCells, columns);
    this.#lines = Math.ceil(cells.rowCells / this.#columns);
    const rowWidth = this.#columns * (this.#cell.width + GAP) - GAP;
    this.#across =
      this.#lines > 1 ? 1 : Math.max(1, Math.floor((width + ROW_GAP) / (rowWidth + ROW_GAP)));
    const rows = Math.ceil(count / cells.rowCells / this.#across);
    this.height = rows * this.#rowHeight() - this.#rowGap() + 2 * MARGIN;
  }

  box(index: number): Box {
    const row = Math.floor(index / this.#rowCells);
    const place = index % this.#rowCells;
    const { width, height } = this.#cell;
    const rowWidth = this.#columns * (width + GAP) - GAP + ROW_GAP;
    return {
      x: MARGIN + (row % this.#across) * rowWidth + (place % this.#columns) * (width + GAP),
      y:
        MARGIN +
        Math.floor(row / this.#across) * this.#rowHeight() +
        Math.floor(place / this.#columns) * (height + GAP),
      width,
      height,
    };
  }

  /** Returns the cell at a point; null if there is none. */
  at(x: number, y: number): number | null {
    for (let index = 0; index < this.#count; index += 1) {
      const box = this.box(index);
      const isInside = x >= box.x && x < box.x + box.width + GAP;
      if (isInside && y >= box.y && y < box.y + box.height + GAP) {
        return index;
      }
    }
    return null;
  }

  /** Returns the cell that a key moves to, the same cell at an edge; null for other keys. */
  neighbour(from: number, key: string): number | null {
    switch (key) {
      case 'ArrowLeft':
        return Math.max(0, from - 1);
      case 'ArrowRight':
        return Math.min(this.#count - 1, from + 1);
      case 'ArrowUp':
        return this.#nearestInColumn(from, -1);
      case 'ArrowDown':
        return this.#nearestInColumn(from, 1);
      case 'Home':
        return 0;
      case 'End':
        return this.#count - 1;
    }
    return null;
  }

  /** The nearest cell above (−1) or below (1) in the same column. */
  #nearestInColumn(from: number, direction: -1 | 1): number {
    const { x, y } = this.box(from);
    for (let index = from + direction; index >= 0 && index < this.#count; index += direction) {
      const box = this.box(index);
      if (box.x === x && (box.y - y) * direction > 0) {
        return index;
      }
    }
    return from;
  }

  #rowGap(): number {
    return this.#lines > 1 ? ROW_GAP : GAP;
  }

  #rowHeight(): number {
    return this.#lines * (this.#cell.height + GAP) - GAP + this.#rowGap();
  }
}

export function isBit({ maxValue }: CellLayout): boolean {
  return maxValue === 1;
}

/** A value that fits into a cell. */
export function shortValue(value: bigint, cells: CellLayout): string {
  return holdsFingerprints(cells)
    ? value.toString(16).padStart(16, '0').slice(0, SHOWN_DIGITS)
    : String(value);
}

/** Whether cells hold whole fingerprints. */
function holdsFingerprints({ maxValue }: CellLayout): boolean {
  return maxValue > 0xffff_ffff;
}

function shownDigits(cells: CellLayout): number {
  return holdsFingerprints(cells) ? SHOWN_DIGITS : String(cells.maxValue).length;
}

function bitSize(
  count: number,
  width: number,
  wantedColumns: number | undefined,
): { width: number; height: number } {
  const fitting =
    wantedColumns === undefined
      ? Math.floor(Math.sqrt((width * PREFERRED_HEIGHT) / count)) - GAP
      : Math.floor((width + GAP) / wantedColumns) - GAP;
  const size = Math.max(MIN_BIT_SIZE, Math.min(MAX_BIT_SIZE, fitting));
  return { width: size, height: size };
}
