// The cells as a picture: what is in use, how long it has been so, what has just changed,
// and which cells decide about the key that was chosen.

import { find } from '../element.js';
import { formatCount, formatShare } from '../number-format.js';
import type { InsideState } from './data.js';
import { type Box, GridLayout, isBit, shortValue } from './layout.js';

/** After so many lines, as a power of two, a cell is as pale as it gets. */
const OLD_POWER = 12;
const PALEST = 0.28;
export const FEW_CELLS = 8;
/** Past so many lines a view, most cells have changed, and marks would say nothing. */
const MOST_LINES_MARKED = 50;

interface Colours {
  surface: string;
  rule: string;
  ink: string;
  accent: string;
  danger: string;
  chosen: string;
}

export class CellGrid {
  readonly #canvas = find('inside-cells', HTMLCanvasElement);
  readonly #pointed: (index: number | null) => void;
  #state: InsideState | undefined;
  #layout: GridLayout | undefined;
  #pointedIndex: number | null = null;
  /** The cell that the keyboard has come to, while it is here. */
  #reached: number | null = null;

  constructor(pointed: (index: number | null) => void) {
    this.#pointed = pointed;
    new ResizeObserver(() => this.#draw()).observe(this.#frame());
    // A canvas does not follow the style sheet by itself.
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#draw());
    this.#canvas.addEventListener('pointermove', (event) => this.#point(event));
    this.#canvas.addEventListener('pointerdown', (event) => this.#point(event));
    this.#canvas.addEventListener('pointerleave', () => this.#tell(null));
    this.#canvas.addEventListener('keydown', (event) => this.#press(event));
    this.#canvas.addEventListener('focus', () => this.#reach(this.#reached ?? 0));
    this.#canvas.addEventListener('blur', () => this.#reach(null));
  }

  show(state: InsideState): void {
    this.#state = state;
    this.#canvas.setAttribute('aria-label', label(state));
    this.#draw();
  }

  #frame(): HTMLElement {
    return this.#canvas.parentElement ?? this.#canvas;
  }

  #point(event: PointerEvent): void {
    this.#tell(this.#layout?.at(event.offsetX, event.offsetY) ?? null);
  }

  #press(event: KeyboardEvent): void {
    const isOurs = !event.ctrlKey && !event.altKey && !event.metaKey;
    const next = isOurs ? (this.#layout?.beside(this.#reached ?? 0, event.key) ?? null) : null;
    if (next !== null) {
      this.#reach(next);
      event.preventDefault();
    }
  }

  #reach(index: number | null): void {
    this.#reached = index;
    this.#tell(index);
    this.#draw();
  }

  #tell(index: number | null): void {
    if (index !== this.#pointedIndex) {
      this.#pointedIndex = index;
      this.#pointed(index);
    }
  }

  #draw(): void {
    const state = this.#state;
    const width = this.#frame().clientWidth;
    const context = this.#canvas.getContext('2d');
    if (state === undefined || width === 0 || context === null) {
      return;
    }
    const layout = new GridLayout(state.anatomy, state.values.length, width);
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
    const { look } = state;
    for (const cell of look?.cells ?? []) {
      context.strokeStyle = colours.chosen;
      // One of many that does not speak for the key is one of many.
      context.lineWidth = cell.isMet || (look?.cells.length ?? 0) <= FEW_CELLS ? 2.5 : 1.25;
      context.setLineDash(cell.isMet ? [] : [3, 2]);
      outline(context, layout.box(cell.index), 1);
    }
    context.setLineDash([]);
    if (this.#reached !== null && this.#reached < state.values.length) {
      context.strokeStyle = colours.ink;
      context.lineWidth = 2;
      outline(context, layout.box(this.#reached), 1);
    }
  }
}

function drawCell(
  context: CanvasRenderingContext2D,
  { anatomy, values, leftAt, lostAt, position, since }: InsideState,
  index: number,
  box: Box,
  colours: Colours,
): void {
  const value = values[index] ?? 0n;
  const left = leftAt[index] ?? 0;
  context.fillStyle = colours.surface;
  context.fillRect(box.x, box.y, box.width, box.height);
  context.strokeStyle = colours.rule;
  context.lineWidth = 1;
  outline(context, box, -0.5);
  if (value > 0n) {
    const age = Math.log2(1 + position - left) / OLD_POWER;
    const strength = 1 - (1 - PALEST) * Math.min(1, age);
    context.fillStyle = colours.accent;
    context.globalAlpha = isBit(anatomy) ? strength : strength * 0.45;
    // A counter is filled as high as it counts; a fingerprint has no height.
    const share = anatomy.cell === 'counter' ? Number(value) / Number(anatomy.most) : 1;
    const height = box.height * share;
    context.fillRect(box.x, box.y + box.height - height, box.width, height);
    context.globalAlpha = 1;
    if (!isBit(anatomy)) {
      context.fillStyle = colours.ink;
      const text = shortValue(value, anatomy);
      context.fillText(text, box.x + box.width / 2, box.y + box.height / 2 + 0.5);
    }
  }
  const isLoss = (lostAt[index] ?? 0) > since;
  if ((isLoss || left > since) && position - since <= MOST_LINES_MARKED) {
    context.strokeStyle = isLoss ? colours.danger : colours.accent;
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
    chosen: colour('--series-2'),
  };
}

function label({ anatomy, values, load, position, look }: InsideState): string {
  const count = `${formatCount(values.length)} ${anatomy.cell}s`;
  const chosen = look === null ? '' : ` Those of the chosen key are outlined: ${look.because}.`;
  return `Picture of ${count}, ${formatShare(load)} in use after ${formatCount(position)} lines.${chosen}`;
}
