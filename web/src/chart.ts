// One rate over the log, a line a filter. The drawing is a bare canvas, so the label
// and the key beside it say in words what it shows.

import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { make, specText } from './element.js';
import { formatCount, formatShare, formatShareTick, formatShortCount } from './number-format.js';
import { look, swatch } from './palette.js';
import type { Rate } from './protocol.js';

const HEIGHT_PIXELS = 230;
/** An axis of nothing but zeros still needs a top. */
const LEAST_TOP = 0.01;
/** Charts of the same run point at the same line of the log. */
const SHARED_CURSOR = 'position';

export interface ChartLine {
  filter: string;
  /** Over the whole log. */
  overall: Rate;
  /** Over each stretch. */
  rates: Rate[];
}

export class RateChart {
  readonly #name: string;
  readonly #drawing = make('div', { class: 'drawing', role: 'img' });
  readonly #where = make('p', { class: 'key-where' });
  readonly #key = make('ul', { class: 'key' });
  #plot: uPlot | undefined;
  #position: number[] = [];
  #lines: ChartLine[] = [];
  #values: HTMLElement[] = [];

  constructor(root: HTMLElement, name: string) {
    this.#name = name;
    root.append(this.#drawing, this.#where, this.#key);
    this.clear();
    new ResizeObserver(() => this.#fit()).observe(this.#drawing);
    // A canvas does not follow the style sheet by itself.
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#redraw());
  }

  show(position: number[], lines: ChartLine[]): void {
    const sameFilters =
      lines.length === this.#lines.length &&
      lines.every((line, place) => line.filter === this.#lines[place]?.filter);
    this.#position = position;
    this.#lines = lines;
    if (this.#plot !== undefined && sameFilters) {
      this.#plot.setData(this.#data());
    } else {
      this.#writeKey();
      this.#redraw();
    }
    this.#writeValues();
    this.#drawing.setAttribute('aria-label', this.#label());
  }

  clear(): void {
    this.#plot?.destroy();
    this.#plot = undefined;
    this.#lines = [];
    this.#drawing.setAttribute('aria-label', `Line chart: ${this.#name}. Empty until a run.`);
    this.#drawing.replaceChildren(make('p', { class: 'placeholder' }, 'Drawn as the log is read.'));
  }

  #data(): uPlot.AlignedData {
    return [this.#position, ...this.#lines.map((line) => line.rates)];
  }

  #redraw(): void {
    this.#plot?.destroy();
    if (this.#lines.length > 0) {
      this.#drawing.replaceChildren();
      this.#plot = new uPlot(this.#options(), this.#data(), this.#drawing);
    }
  }

  #fit(): void {
    const width = this.#drawing.clientWidth;
    if (this.#plot !== undefined && width > 0 && width !== this.#plot.width) {
      this.#plot.setSize({ width, height: HEIGHT_PIXELS });
    }
  }

  #options(): uPlot.Options {
    const style = getComputedStyle(this.#drawing);
    const ink = style.getPropertyValue('--muted').trim();
    const rule = style.getPropertyValue('--rule').trim();
    const axis: uPlot.Axis = {
      stroke: ink,
      font: `12px ${style.fontFamily}`,
      grid: { stroke: rule, width: 1 },
      ticks: { show: false },
    };
    return {
      width: Math.max(this.#drawing.clientWidth, 1),
      height: HEIGHT_PIXELS,
      padding: [10, 24, 0, 0],
      legend: { show: false },
      cursor: {
        sync: { key: SHARED_CURSOR },
        drag: { x: false, y: false },
        y: false,
        points: { size: 7 },
      },
      scales: {
        x: { time: false },
        y: { range: (_, __, most) => [0, Math.max(most * 1.05, LEAST_TOP)] },
      },
      axes: [
        {
          ...axis,
          size: 28,
          space: 64,
          label: 'line of the log',
          labelFont: axis.font ?? '',
          labelSize: 18,
          values: (_, ticks) => ticks.map(formatShortCount),
        },
        { ...axis, size: 54, values: (_, ticks) => ticks.map(formatShareTick) },
      ],
      series: [{}, ...this.#lines.map((line, place) => this.#series(line, place))],
      hooks: { setCursor: [() => this.#writeValues()] },
    };
  }

  #series(line: ChartLine, place: number): uPlot.Series {
    const { colour, dash } = look(place);
    return {
      label: line.filter,
      stroke: colour,
      dash: [...dash],
      width: 1.75,
      // A stretch without a single repeat, say, has no rate; the line goes on past it.
      spanGaps: true,
      // A line needs two ends.
      points: { show: (plot) => plot.data[0].length < 2 },
    };
  }

  #writeKey(): void {
    this.#values = this.#lines.map(() => make('span', { class: 'key-value' }));
    const items = this.#lines.map((line, place) =>
      make('li', {}, swatch(place), specText(line.filter), this.#values[place] ?? ''),
    );
    this.#key.replaceChildren(...items);
  }

  /** The rates under the cursor; where there is none, those of the whole log. */
  #writeValues(): void {
    const index = this.#plot?.cursor.idx ?? null;
    const end = index === null ? undefined : this.#position[index];
    this.#where.textContent =
      index === null || end === undefined
        ? 'All lines'
        : `Lines ${formatCount((this.#position[index - 1] ?? 0) + 1)} to ${formatCount(end)}`;
    this.#lines.forEach((line, place) => {
      const rate = index === null ? line.overall : (line.rates[index] ?? null);
      const value = this.#values[place];
      if (value !== undefined) {
        value.textContent = formatShare(rate);
      }
    });
  }

  #label(): string {
    const overall = this.#lines.map((line) => `${line.filter} ${formatShare(line.overall)}`);
    const end = formatCount(this.#position.at(-1) ?? 0);
    const axes = `${this.#name} against position in the log, up to line ${end}`;
    return `Line chart: ${axes}. Over all lines: ${overall.join('; ')}.`;
  }
}
