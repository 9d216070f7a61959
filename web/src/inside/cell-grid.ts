// The cells as a picture: which are in use, how old their values are, what has just changed,
// and which cells the filter checks for the selected key.

import { formatCounted, formatShare } from '../ui/number-format.js';
import { type Box, GridLayout, isBit, shortValue } from './grid-layout.js';
import type { InsideState } from './protocol.js';

/** The age at which a cell is palest: 2 to this power, in lines. */
const PALEST_POWER = 12;
const PALEST_ALPHA = 0.28;
/** Up to this many cells of a key are emphasized even if they do not match. */
export const FEW_CELLS = 8;
/** If more lines than this come between two states, most cells change: none is marked. */
const MAX_MARKED_LINES = 50;

interface Colours {
  surface: string;
  rule: string;
  ink: string;
  accent: string;
  danger: string;
  selected: string;
}

export interface CellGridOptions {
  /** Called for the cell under the pointer or the keyboard's cursor. Without it, cells are only shown. */
  pointed?: (index: number | null) => void;
  /** So many cells per line, as large as the width allows. */
  columns?: number;
}

export class CellGrid {
  readonly #canvas: HTMLCanvasElement;
  readonly #options: CellGridOptions;
  #state: InsideState | undefined;
  #layout: GridLayout | undefined;
  #pointedIndex: number | null = null;
  /** The cell under the keyboard's cursor, while the canvas has the focus. */
  #cursor: number | null = null;

  constructor(canvas: HTMLCanvasElement, options: CellGridOptions) {
    this.#canvas = canvas;
    this.#options = options;
    new ResizeObserver(() => this.#draw()).observe(this.#frame());
    // A canvas does not follow the style sheet.
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#draw());
    if (options.pointed === undefined) {
      return;
    }
    this.#canvas.addEventListener('pointermove', (event) => this.#pointAt(event));
    this.#canvas.addEventListener('pointerdown', (event) => this.#pointAt(event));
    this.#canvas.addEventListener('pointerleave', () => this.#setPointed(null));
    this.#canvas.addEventListener('keydown', (event) => this.#handleKey(event));
    this.#canvas.addEventListener('focus', () => this.#moveCursor(this.#cursor ?? 0));
    this.#canvas.addEventListener('blur', () => this.#moveCursor(null));
  }

  show(state: InsideState): void {
    this.#state = state;
    this.#canvas.setAttribute('aria-label', label(state));
    this.#draw();
  }

  #frame(): HTMLElement {
    return this.#canvas.parentElement ?? this.#canvas;
  }

  #pointAt(event: PointerEvent): void {
    this.#setPointed(this.#layout?.at(event.offsetX, event.offsetY) ?? null);
  }

  #handleKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.altKey || event.metaKey) {
      return;
    }
    const next = this.#layout?.neighbour(this.#cursor ?? 0, event.key) ?? null;
    if (next !== null) {
      this.#moveCursor(next);
      event.preventDefault();
    }
  }

  #moveCursor(index: number | null): void {
    this.#cursor = index;
    this.#setPointed(index);
    this.#draw();
  }

  #setPointed(index: number | null): void {
    if (index !== this.#pointedIndex) {
      this.#pointedIndex = index;
      this.#options.pointed?.(index);
    }
  }

  #draw(): void {
    const state = this.#state;
    const width = this.#frame().clientWidth;
    const context = this.#canvas.getContext('2d');
    if (state === undefined || width === 0 || context === null) {
      return;
    }
    const layout = new GridLayout(state.cells, state.values.length, width, this.#options.columns);
    this.#layout = layout;
    const scale = window.devicePixelRatio;
    this.#canvas.width = Math.round(width * scale);
    this.#canvas.height = Math.round(layout.height * scale);
    this.#canvas.style.height = `${layout.height}px`;
    context.scale(scale, scale);
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    const style = getComputedStyle(this.#canvas);
    context.font = `12px ${style.fontFamily}`;
    const colours = coloursOf(style);
    for (let index = 0; index < state.values.length; index += 1) {
      drawCell(context, state, index, layout.box(index), colours);
    }
    const selectedCells = state.selected?.cells ?? [];
    for (const { index, matches } of selectedCells) {
      context.strokeStyle = colours.selected;
      context.lineWidth = matches || selectedCells.length <= FEW_CELLS ? 2.5 : 1.25;
      context.setLineDash(matches ? [] : [3, 2]);
      outline(context, layout.box(index), 1);
    }
    context.setLineDash([]);
    if (this.#cursor !== null && this.#cursor < state.values.length) {
      context.strokeStyle = colours.ink;
      context.lineWidth = 2;
      outline(context, layout.box(this.#cursor), 1);
    }
  }
}

function drawCell(
  context: CanvasRenderingContext2D,
  { cells, values, writtenAt, lostAt, position, previousPosition }: InsideState,
  index: number,
  box: Box,
  colours: Colours,
): void {
  const value = values[index] ?? 0n;
  const written = writtenAt[index] ?? 0;
  context.fillStyle = colours.surface;
  context.fillRect(box.x, box.y, box.width, box.height);
  context.strokeStyle = colours.rule;
  context.lineWidth = 1;
  outline(context, box, -0.5);
  if (value > 0n) {
    const age = Math.log2(1 + position - written) / PALEST_POWER;
    const alpha = 1 - (1 - PALEST_ALPHA) * Math.min(1, age);
    context.fillStyle = colours.accent;
    context.globalAlpha = isBit(cells) ? alpha : alpha * 0.45;
    // A counter is filled up to its value; other cells are filled completely.
    const share = cells.name === 'counter' ? Number(value) / cells.maxValue : 1;
    const height = box.height * share;
    context.fillRect(box.x, box.y + box.height - height, box.width, height);
    context.globalAlpha = 1;
    if (!isBit(cells)) {
      context.fillStyle = colours.ink;
      const text = shortValue(value, cells);
      context.fillText(text, box.x + box.width / 2, box.y + box.height / 2 + 0.5);
    }
  }
  const isLost = (lostAt[index] ?? 0) > previousPosition;
  const isWritten = written > previousPosition;
  if ((isLost || isWritten) && position - previousPosition <= MAX_MARKED_LINES) {
    context.strokeStyle = isLost ? colours.danger : colours.accent;
    context.lineWidth = 2;
    outline(context, box, 0);
  }
}

function outline(context: CanvasRenderingContext2D, box: Box, by: number): void {
  context.strokeRect(box.x - by, box.y - by, box.width + 2 * by, box.height + 2 * by);
}

function coloursOf(style: CSSStyleDeclaration): Colours {
  const colour = (name: string) => style.getPropertyValue(name).trim();
  return {
    surface: colour('--surface'),
    rule: colour('--rule'),
    ink: colour('--ink'),
    accent: colour('--accent'),
    danger: colour('--danger'),
    selected: colour('--series-2'),
  };
}

function label({ cells, values, load, position, selected }: InsideState): string {
  const count = formatCounted(values.length, cells.name);
  const lines = formatCounted(position, 'line');
  const outlined =
    selected === null ? '' : ` The cells of the selected key are outlined: ${selected.reason}.`;
  return `Picture of ${count}, ${formatShare(load)} in use after ${lines}.${outlined}`;
}
