// A line chart of one measure, for example against the position in the log. Each filter has a line, and
// a thin line of the same colour for its prediction. A canvas has no text for screen readers,
// so the label and the legend say what it shows.

import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { create, specText } from '../ui/element.js';
import { formatShare, formatShareTick, formatShortCount } from '../ui/number-format.js';
import { lineStyle, swatch } from '../ui/palette.js';

const HEIGHT_PIXELS = 230;
/** The lowest top of the axis, for rates that are all 0. */
const MIN_TOP = 0.01;
const DIMMED = 0.18;

/** NaN stands for a missing rate. */
export interface ChartLine {
  filter: string;
  /** Over the whole log; null if missing. */
  overall: number | null;
  /** One per stretch. */
  rates: Float64Array;
  predicted: Float64Array;
}

/** The horizontal axis. */
export interface ChartAxis {
  label: string;
  /** What the measure is shown against, in words. */
  against: string;
  /** The charts of the same name share the position of the cursor. */
  cursor: string;
  /** Whether each value has a point. */
  hasPoints: boolean;
  /** The lines at a value. */
  range(index: number): string;
}

export interface ChartData {
  axis: ChartAxis;
  /** The values on the axis: the end of each stretch. */
  position: Float64Array;
  lines: ChartLine[];
  /** The lowest possible rates; null if there is no bound. */
  bound: Float64Array | null;
  /** The name of the sample; '' for the whole log. */
  sample: string;
}

const NO_AXIS = { label: '', against: '', cursor: '', hasPoints: false, range: () => '' };
const NO_DATA: ChartData = {
  axis: NO_AXIS,
  position: new Float64Array(),
  lines: [],
  bound: null,
  sample: '',
};

export class RateChart {
  readonly name: string;
  readonly #drawing = create('div', { class: 'drawing', role: 'img' });
  readonly #range = create('p', { class: 'legend-range' });
  readonly #legend = create('ul', { class: 'chart-legend' });
  #plot: uPlot | undefined;
  #data = NO_DATA;
  #values: HTMLElement[] = [];
  #showsTheory = true;

  constructor(root: HTMLElement, name: string) {
    this.name = name;
    root.append(this.#drawing, this.#range, this.#legend);
    this.clear();
    new ResizeObserver(() => this.#fit()).observe(this.#drawing);
    // A canvas does not follow the style sheet.
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#redraw());
  }

  show(data: ChartData): void {
    const isSame =
      data.sample === this.#data.sample &&
      data.lines.length === this.#data.lines.length &&
      (data.bound === null) === (this.#data.bound === null) &&
      data.lines.every((line, index) => line.filter === this.#data.lines[index]?.filter);
    this.#data = data;
    if (this.#plot !== undefined && isSame) {
      this.#plot.setData(this.#columns());
    } else {
      this.#createLegend();
      this.#redraw();
    }
    this.#updateValues();
    this.#drawing.setAttribute('aria-label', this.#label());
  }

  showTheory(shows: boolean): void {
    this.#showsTheory = shows;
    const plot = this.#plot;
    // The predictions come after the position and the measured rates.
    const first = 1 + this.#data.lines.length;
    plot?.batch(() => {
      this.#data.lines.forEach((_, index) => plot.setSeries(first + index, { show: shows }));
    });
  }

  clear(): void {
    this.#plot?.destroy();
    this.#plot = undefined;
    this.#data = NO_DATA;
    this.#drawing.setAttribute('aria-label', `Line chart: ${this.name}. Empty until a run.`);
    this.#drawing.replaceChildren(
      create('p', { class: 'placeholder' }, 'Drawn while the log is read.'),
    );
  }

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
      ...lines.map((line) => withGaps(line.rates)),
      ...lines.map((line) => withGaps(line.predicted)),
      ...(bound === null ? [] : [withGaps(bound)]),
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
    const { axis: horizontal, lines, bound } = this.#data;
    return {
      width: Math.max(this.#drawing.clientWidth, 1),
      height: HEIGHT_PIXELS,
      padding: [10, 24, 0, 0],
      legend: { show: false },
      focus: { alpha: DIMMED },
      cursor: {
        sync: { key: horizontal.cursor },
        drag: { x: false, y: false },
        y: false,
        points: { size: 7 },
      },
      scales: {
        x: { time: false },
        y: { range: (_, __, max) => [0, Math.max(max * 1.05, MIN_TOP)] },
      },
      axes: [
        {
          ...axis,
          size: 28,
          space: 64,
          label: horizontal.label,
          labelFont: axis.font ?? '',
          labelSize: 18,
          values: (_, ticks) => ticks.map(formatShortCount),
        },
        { ...axis, size: 54, values: (_, ticks) => ticks.map(formatShareTick) },
      ],
      series: [
        {},
        ...lines.map((line, index) => measuredSeries(line, index, horizontal.hasPoints)),
        ...lines.map((line, index) => this.#predictedSeries(line, index)),
        ...(bound === null ? [] : [{ label: 'bound', stroke: ink, width: 2, dash: [1, 4] }]),
      ],
      hooks: { setCursor: [() => this.#updateValues()] },
    };
  }

  #predictedSeries(line: ChartLine, index: number): uPlot.Series {
    return {
      label: `${line.filter}, theory`,
      stroke: lineStyle(index).colour,
      width: 0.75,
      show: this.#showsTheory,
      points: { show: false },
    };
  }

  #createLegend(): void {
    const { lines, bound } = this.#data;
    this.#values = lines.map(() => create('span', { class: 'legend-value' }));
    const items = lines.map((line, index) => {
      const value = this.#values[index] ?? '';
      const item = create('li', {}, swatch(index), specText(line.filter), value);
      item.addEventListener('mouseenter', () => this.#focus(index));
      item.addEventListener('mouseleave', () => this.#focus(null));
      return item;
    });
    if (bound !== null) {
      const value = create('span', { class: 'legend-value' });
      this.#values.push(value);
      const text = create('span', { class: 'legend-bound' }, 'lowest possible without missed repeats');
      items.push(create('li', {}, create('span', { class: 'dots' }), text, value));
    }
    this.#legend.replaceChildren(...items);
  }

  #focus(index: number | null): void {
    const series = index === null ? null : index + 1;
    this.#plot?.setSeries(series, { focus: series !== null });
  }

  /** Shows the rates at the cursor; without a cursor, those of the whole log. */
  #updateValues(): void {
    const { axis, position, lines, bound } = this.#data;
    const index = this.#plot?.cursor.idx ?? null;
    this.#range.textContent =
      index === null || index >= position.length ? 'All lines' : axis.range(index);
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
    const { axis, lines, sample } = this.#data;
    const overall = lines.map((line) => `${line.filter} ${formatShare(line.overall)}`);
    const axes = `${this.name} against ${axis.against}`;
    const of = sample === '' ? '' : ` A sample: ${sample}.`;
    return `Line chart: ${axes}.${of} Over all lines: ${overall.join('; ')}.`;
  }
}

/** uPlot needs null for a missing value. */
function withGaps(rates: Float64Array): (number | null)[] {
  return Array.from(rates, (rate) => (Number.isNaN(rate) ? null : rate));
}

function measuredSeries(line: ChartLine, index: number, hasPoints: boolean): uPlot.Series {
  const { colour, dash } = lineStyle(index);
  return {
    label: line.filter,
    stroke: colour,
    dash: [...dash],
    width: 1.75,
    // A stretch without repeats has no FNR; the line continues across it.
    spanGaps: true,
    // A single point has no line.
    points: { show: (plot) => hasPoints || plot.data[0].length < 2, size: 6 },
  };
}
