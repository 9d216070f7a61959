// One measure over the log, a line a filter, with what theory says as a thin line of the
// same colour. The drawing is a bare canvas, so the label and the key beside it say in
// words what it shows.

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
const DIMMED = 0.18;

export interface ChartLine {
  filter: string;
  /** Over the whole log. */
  overall: Rate;
  /** Over each stretch. */
  rates: Rate[];
  /** What theory says of each stretch. */
  predicted: Rate[];
}

export interface ChartData {
  position: number[];
  lines: ChartLine[];
  /** What no filter can be below, where that is known. */
  bound: Rate[] | null;
  /** The part of the log this is about, by name; '' for all of it. */
  sample: string;
}

const NOTHING: ChartData = { position: [], lines: [], bound: null, sample: '' };

export class RateChart {
  readonly name: string;
  readonly #drawing = make('div', { class: 'drawing', role: 'img' });
  readonly #where = make('p', { class: 'key-where' });
  readonly #key = make('ul', { class: 'key' });
  #plot: uPlot | undefined;
  #data = NOTHING;
  #values: HTMLElement[] = [];
  #showsTheory = true;

  constructor(root: HTMLElement, name: string) {
    this.name = name;
    root.append(this.#drawing, this.#where, this.#key);
    this.clear();
    new ResizeObserver(() => this.#fit()).observe(this.#drawing);
    // A canvas does not follow the style sheet by itself.
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#redraw());
  }

  show(data: ChartData): void {
    const isSame =
      data.sample === this.#data.sample &&
      data.lines.length === this.#data.lines.length &&
      (data.bound === null) === (this.#data.bound === null) &&
      data.lines.every((line, place) => line.filter === this.#data.lines[place]?.filter);
    this.#data = data;
    if (this.#plot !== undefined && isSame) {
      this.#plot.setData(this.#columns());
    } else {
      this.#writeKey();
      this.#redraw();
    }
    this.#writeValues();
    this.#drawing.setAttribute('aria-label', this.#label());
  }

  showTheory(shows: boolean): void {
    this.#showsTheory = shows;
    const plot = this.#plot;
    // Behind the position and what is measured.
    const first = 1 + this.#data.lines.length;
    plot?.batch(() => {
      this.#data.lines.forEach((_, place) => plot.setSeries(first + place, { show: shows }));
    });
  }

  clear(): void {
    this.#plot?.destroy();
    this.#plot = undefined;
    this.#data = NOTHING;
    this.#drawing.setAttribute('aria-label', `Line chart: ${this.name}. Empty until a run.`);
    this.#drawing.replaceChildren(make('p', { class: 'placeholder' }, 'Drawn as the log is read.'));
  }

  /** What is drawn, for those who take it away. */
  get data(): ChartData {
    return this.#data;
  }

  get canvas(): HTMLCanvasElement | null {
    return this.#drawing.querySelector('canvas');
  }

  #columns(): uPlot.AlignedData {
    const { position, lines, bound } = this.#data;
    return [
      position,
      ...lines.map((line) => line.rates),
      ...lines.map((line) => line.predicted),
      ...(bound === null ? [] : [bound]),
    ];
  }

  #redraw(): void {
    this.#plot?.destroy();
    if (this.#data.lines.length > 0) {
      this.#drawing.replaceChildren();
      this.#plot = new uPlot(this.#options(), this.#columns(), this.#drawing);
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
    const { lines, bound, sample } = this.#data;
    return {
      width: Math.max(this.#drawing.clientWidth, 1),
      height: HEIGHT_PIXELS,
      padding: [10, 24, 0, 0],
      legend: { show: false },
      focus: { alpha: DIMMED },
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
          label: sample === '' ? 'line of the log' : `line of the sample: ${sample}`,
          labelFont: axis.font ?? '',
          labelSize: 18,
          values: (_, ticks) => ticks.map(formatShortCount),
        },
        { ...axis, size: 54, values: (_, ticks) => ticks.map(formatShareTick) },
      ],
      series: [
        {},
        ...lines.map((line, place) => measured(line, place)),
        ...lines.map((line, place) => this.#theory(line, place)),
        ...(bound === null ? [] : [{ label: 'bound', stroke: ink, width: 2, dash: [1, 4] }]),
      ],
      hooks: { setCursor: [() => this.#writeValues()] },
    };
  }

  #theory(line: ChartLine, place: number): uPlot.Series {
    return {
      label: `${line.filter}, theory`,
      stroke: look(place).colour,
      width: 0.75,
      show: this.#showsTheory,
      points: { show: false },
    };
  }

  #writeKey(): void {
    const { lines, bound } = this.#data;
    this.#values = lines.map(() => make('span', { class: 'key-value' }));
    const items = lines.map((line, place) => {
      const item = make('li', {}, swatch(place), specText(line.filter), this.#values[place] ?? '');
      item.addEventListener('mouseenter', () => this.#focus(place));
      item.addEventListener('mouseleave', () => this.#focus(null));
      return item;
    });
    if (bound !== null) {
      const value = make('span', { class: 'key-value' });
      this.#values.push(value);
      const text = make('span', { class: 'key-bound' }, 'least possible with no repeat missed');
      items.push(make('li', {}, make('span', { class: 'dots' }), text, value));
    }
    this.#key.replaceChildren(...items);
  }

  #focus(place: number | null): void {
    const series = place === null ? null : place + 1;
    this.#plot?.setSeries(series, { focus: series !== null });
  }

  /** The rates under the cursor; where there is none, those of the whole log. */
  #writeValues(): void {
    const { position, lines, bound } = this.#data;
    const index = this.#plot?.cursor.idx ?? null;
    const end = index === null ? undefined : position[index];
    this.#where.textContent =
      index === null || end === undefined
        ? 'All lines'
        : `Lines ${formatCount((position[index - 1] ?? 0) + 1)} to ${formatCount(end)}`;
    lines.forEach((line, place) => {
      const rate = index === null ? line.overall : (line.rates[index] ?? null);
      const value = this.#values[place];
      if (value !== undefined) {
        value.textContent = formatShare(rate);
      }
    });
    const last = this.#values[lines.length];
    if (bound !== null && last !== undefined) {
      const rate = index === null ? bound.at(-1) : bound[index];
      last.textContent = formatShare(rate ?? null);
    }
  }

  #label(): string {
    const { position, lines, sample } = this.#data;
    const overall = lines.map((line) => `${line.filter} ${formatShare(line.overall)}`);
    const end = formatCount(position.at(-1) ?? 0);
    const axes = `${this.name} against position in the log, up to line ${end}`;
    const of = sample === '' ? '' : ` A sample: ${sample}.`;
    return `Line chart: ${axes}.${of} Over all lines: ${overall.join('; ')}.`;
  }
}

function measured(line: ChartLine, place: number): uPlot.Series {
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
