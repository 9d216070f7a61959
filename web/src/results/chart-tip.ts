// The values of all lines of a chart, in a box beside the pointer. The legend has the same values
// for the keyboard and for screen readers.

import type uPlot from 'uplot';
import { create } from '../ui/element.js';
import { formatShare } from '../ui/number-format.js';
import { type Series, swatch } from '../ui/palette.js';

/** Between the pointer and the box. */
const DISTANCE_PIXELS = 14;

export interface TipRow {
  name: string;
  /** Null for a line that is not a filter's. */
  series: Series | null;
  rate: number | null;
}

export class ChartTip {
  readonly #box = create('div', { class: 'chart-tip', 'aria-hidden': 'true', hidden: '' });

  /** Shows the box in a new plot. */
  attach(plot: uPlot): void {
    this.#box.hidden = true;
    plot.over.append(this.#box);
  }

  hide(): void {
    this.#box.hidden = true;
  }

  /** Shows values beside the pointer, the largest first: in the order of the lines. */
  show(plot: uPlot, title: string, rows: TipRow[]): void {
    // The charts share the position of the cursor; only one has the pointer.
    this.#box.hidden = !plot.over.matches(':hover');
    if (this.#box.hidden) {
      return;
    }
    const value = ({ rate }: TipRow) => (rate === null || Number.isNaN(rate) ? -1 : rate);
    const sorted = rows.toSorted((a, b) => value(b) - value(a));
    this.#box.replaceChildren(create('p', {}, title), ...sorted.map(tipRow));
    const { left = 0, top = 0 } = plot.cursor;
    const { clientWidth, clientHeight } = plot.over;
    const { offsetWidth, offsetHeight } = this.#box;
    const fitsRight = left + DISTANCE_PIXELS + offsetWidth <= clientWidth;
    const x = fitsRight ? left + DISTANCE_PIXELS : left - DISTANCE_PIXELS - offsetWidth;
    this.#box.style.left = `${Math.max(x, 0)}px`;
    this.#box.style.top = `${Math.max(Math.min(top, clientHeight - offsetHeight), 0)}px`;
  }
}

function tipRow({ name, series, rate }: TipRow): HTMLElement {
  const mark = series === null ? create('span', { class: 'dots' }) : swatch(series);
  return create('p', {}, mark, create('span', {}, name), create('b', {}, formatShare(rate)));
}
