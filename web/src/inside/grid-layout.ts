// Where each cell of a filter is drawn. Cells that belong together stay together: side by
// side with others where they are few, in lines of their own where they are many.

import type { CellAnatomy } from './data.js';

const GAP = 2;
const ROW_GAP = 10;
/** Room for the outlines of the outermost cells. */
const MARGIN = 3;
/** A picture of about this height shows without scrolling. */
const HEIGHT_WANTED = 420;
const BIT_SIZES = { least: 5, most: 16 };
const TEXT_HEIGHT = 22;
const DIGIT_WIDTH = 7.2;
/** Of larger values only the first digits are shown. */
const DIGITS_SHOWN = 4;

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export class GridLayout {
  readonly height: number;
  readonly #anatomy: CellAnatomy;
  readonly #count: number;
  readonly #cell: { width: number; height: number };
  /** Cells in a line of one row, lines of a row, and rows side by side. */
  readonly #columns: number;
  readonly #lines: number;
  readonly #across: number;

  constructor(anatomy: CellAnatomy, count: number, fullWidth: number) {
    const width = fullWidth - 2 * MARGIN;
    this.#anatomy = anatomy;
    this.#count = count;
    this.#cell = isBit(anatomy)
      ? square(count, width)
      : { width: Math.max(TEXT_HEIGHT, shownDigits(anatomy) * DIGIT_WIDTH + 5), height: TEXT_HEIGHT };
    const fitting = Math.max(1, Math.floor((width + GAP) / (this.#cell.width + GAP)));
    const { rowCells } = anatomy;
    // Eights are easier to count in.
    const eights = fitting >= 24 ? fitting - (fitting % 8) : fitting;
    this.#columns = Math.min(rowCells, eights);
    this.#lines = Math.ceil(rowCells / this.#columns);
    const rowWidth = this.#columns * (this.#cell.width + GAP) - GAP;
    this.#across =
      this.#lines > 1 ? 1 : Math.max(1, Math.floor((width + ROW_GAP) / (rowWidth + ROW_GAP)));
    const rows = Math.ceil(count / rowCells / this.#across);
    this.height = rows * this.#rowHeight() - this.#rowGap() + 2 * MARGIN;
  }

  box(index: number): Box {
    const row = Math.floor(index / this.#anatomy.rowCells);
    const place = index % this.#anatomy.rowCells;
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

  /** The cell at a point, if there is one. */
  at(x: number, y: number): number | null {
    for (let index = 0; index < this.#count; index += 1) {
      const box = this.box(index);
      const isIn = x >= box.x && x < box.x + box.width + GAP;
      if (isIn && y >= box.y && y < box.y + box.height + GAP) {
        return index;
      }
    }
    return null;
  }

  /** The cell that an arrow key goes to from another; the same at the edge. */
  beside(from: number, key: string): number | null {
    switch (key) {
      case 'ArrowLeft':
        return Math.max(0, from - 1);
      case 'ArrowRight':
        return Math.min(this.#count - 1, from + 1);
      case 'ArrowUp':
        return this.#nearest(from, -1);
      case 'ArrowDown':
        return this.#nearest(from, 1);
      case 'Home':
        return 0;
      case 'End':
        return this.#count - 1;
    }
    return null;
  }

  /** The nearest cell above (−1) or below (1) that is in the same column. */
  #nearest(from: number, direction: -1 | 1): number {
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

export function isBit({ most }: CellAnatomy): boolean {
  return most === 1n;
}

/** A value as it fits into a cell. */
export function shortValue(value: bigint, { most }: CellAnatomy): string {
  return isWhole(most) ? value.toString(16).padStart(16, '0').slice(0, DIGITS_SHOWN) : String(value);
}

/** Whether cells hold whole fingerprints. */
function isWhole(most: bigint): boolean {
  return most > 0xffff_ffffn;
}

function shownDigits({ most }: CellAnatomy): number {
  return isWhole(most) ? DIGITS_SHOWN : String(most).length;
}

function square(count: number, width: number): { width: number; height: number } {
  const fitting = Math.floor(Math.sqrt((width * HEIGHT_WANTED) / count)) - GAP;
  const size = Math.max(BIT_SIZES.least, Math.min(BIT_SIZES.most, fitting));
  return { width: size, height: size };
}
