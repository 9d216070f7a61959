// A line chart of one measure, for example against the position in the log. Each filter has a line, and
// a thin line of the same colour for its prediction. A canvas has no text for screen readers,
// so the label and the legend say what it shows.

import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { create, filterName } from '../ui/element.js';
import { formatShare, formatShareTick, formatShortCount } from '../ui/number-format.js';
import { type Series, lineStyle, swatch } from '../ui/palette.js';
import { ChartTip, type TipRow } from './chart-tip.js';
import { type Scale, ticksUpTo, topOf } from './scale.js';

const HEIGHT_PIXELS = 230;

/** NaN stands for a missing rate. */
export interface ChartLine {
  /** The filter's text form. */
  filter: string;
  /** The filter's name for people. */
  name: string;
  series: Series;
  /** Over the whole log; null if missing. */
  overall: number | null;
  /** One per position. */
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
  /** The values on the axis. */
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
  readonly #drawing = create('div', { class: 'drawing empty', role: 'img' });
  readonly #range = create('p', { class: 'legend-range' });
  readonly #legend = create('ul', { class: 'chart-legend' });
  readonly #isolate: (filter: string) => void;
  readonly #tip = new ChartTip();
  #plot: uPlot | undefined;
  #data = NO_DATA;
  #values: HTMLElement[] = [];
  #buttons: HTMLButtonElement[] = [];
  #showsTheory = false;
  #scale: Scale = 'linear';
  /** The filter that is shown alone. */
  #isolated: string | null = null;

  /** `isolate` is called if a filter is chosen in the legend. */
  constructor(root: HTMLElement, name: string, isolate?: (filter: string) => void) {
    this.name = name;
    this.#isolate =
      isolate ?? ((filter) => this.isolate(this.#isolated === filter ? null : filter));
    root.append(this.#drawing, this.#range, this.#legend);
    this.#drawing.setAttribute('aria-label', `Line chart: ${name}. Empty until a run.`);
    this.#drawing.append(create('p', { class: 'placeholder' }, 'Drawn while the log is read.'));
    new ResizeObserver(() => this.#fit()).observe(this.#drawing);
    // A canvas does not follow the style sheet.
    for (const query of ['(prefers-color-scheme: dark)', '(prefers-contrast: more)']) {
      matchMedia(query).addEventListener('change', () => this.#redraw());
    }
  }

  show(data: ChartData, scale: Scale = 'linear'): void {
    const isSame =
      scale === this.#scale &&
      data.axis.label === this.#data.axis.label &&
      data.lines.length === this.#data.lines.length &&
      (data.bound === null) === (this.#data.bound === null) &&
      data.lines.every((line, index) => line.filter === this.#data.lines[index]?.filter);
    this.#data = data;
    this.#scale = scale;
    if (this.#plot !== undefined && isSame) {
      this.#plot.setData(this.#columns());
    } else {
      if (!data.lines.some(({ filter }) => filter === this.#isolated)) {
        this.#isolated = null;
      }
      this.#createLegend();
      this.#redraw();
    }
    this.#updateValues();
    this.#drawing.setAttribute('aria-label', this.#label());
  }

  showTheory(shows: boolean): void {
    this.#showsTheory = shows;
    this.#updateVisible();
  }

  /** Shows one filter alone; null shows all. */
  isolate(filter: string | null): void {
    this.#isolated = filter;
    this.#updateVisible();
  }

  get data(): ChartData {
    return this.#data;
  }

  get scale(): Scale {
    return this.#scale;
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
      this.#drawing.classList.remove('empty');
      this.#plot = new uPlot(this.#options(), this.#columns(), this.#drawing);
      this.#tip.attach(this.#plot);
    }
  }

  #fit(): void {
    const width = this.#drawing.clientWidth;
    if (this.#plot !== undefined && width > 0 && width !== this.#plot.width) {
      this.#plot.setSize({ width, height: HEIGHT_PIXELS });
    }
  }

  #isShown(line: ChartLine): boolean {
    return this.#isolated === null || line.filter === this.#isolated;
  }

  #updateVisible(): void {
    const { lines } = this.#data;
    const plot = this.#plot;
    plot?.batch(() => {
      lines.forEach((line, index) => {
        const isShown = this.#isShown(line);
        plot.setSeries(1 + index, { show: isShown });
        plot.setSeries(1 + lines.length + index, { show: isShown && this.#showsTheory });
      });
    });
    lines.forEach(({ filter }, index) => {
      this.#buttons[index]?.setAttribute('aria-pressed', String(filter === this.#isolated));
    });
    this.#legend.classList.toggle('has-isolated', this.#isolated !== null);
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
    const scale = this.#scale;
    return {
      width: Math.max(this.#drawing.clientWidth, 1),
      height: HEIGHT_PIXELS,
      padding: [10, 24, 0, 0],
      legend: { show: false },
      cursor: {
        sync: { key: horizontal.cursor },
        drag: { x: false, y: false },
        y: false,
        points: { size: 7 },
      },
      scales: {
        x: { time: false },
        y: {
          range: (_, __, max) => [0, topOf([max])],
          ...(scale === 'root' ? { distr: 100, fwd: Math.sqrt, bwd: (value) => value * value } : {}),
        },
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
        {
          ...axis,
          size: 58,
          splits: (_, __, ___, max) => ticksUpTo(max, scale),
          values: (_, ticks) => ticks.map(formatShareTick),
        },
      ],
      series: [
        {},
        ...lines.map((line) => this.#measuredSeries(line)),
        ...lines.map((line) => this.#predictedSeries(line)),
        ...(bound === null ? [] : [{ label: 'bound', stroke: ink, width: 2, dash: [1, 4] }]),
      ],
      hooks: { setCursor: [() => this.#updateValues()] },
    };
  }

  #measuredSeries(line: ChartLine): uPlot.Series {
    const { colour, dash } = lineStyle(line.series);
    const { hasPoints } = this.#data.axis;
    return {
      label: line.name,
      stroke: colour,
      dash: [...dash],
      width: 1.75,
      show: this.#isShown(line),
      // A stretch without repeats has no FNR; the line continues across it.
      spanGaps: true,
      // A single point has no line.
      points: { show: (plot) => hasPoints || plot.data[0].length < 2, size: 6 },
    };
  }

  #predictedSeries(line: ChartLine): uPlot.Series {
    return {
      label: `${line.name}, theory`,
      stroke: lineStyle(line.series).colour,
      width: 0.75,
      show: this.#showsTheory && this.#isShown(line),
      points: { show: false },
    };
  }

  #createLegend(): void {
    const { lines, bound } = this.#data;
    this.#values = lines.map(() => create('span', { class: 'legend-value' }));
    this.#buttons = lines.map((line, index) => {
      const button = create('button', { type: 'button', class: 'legend-entry' });
      button.setAttribute('aria-pressed', String(line.filter === this.#isolated));
      button.append(swatch(line.series), filterName(line), this.#values[index] ?? '');
      button.addEventListener('click', () => this.#isolate(line.filter));
      return button;
    });
    const items = this.#buttons.map((button) => create('li', {}, button));
    if (bound !== null) {
      const value = create('span', { class: 'legend-value' });
      this.#values.push(value);
      const text = create('span', { class: 'legend-bound' }, 'least possible without repeats let through');
      text.title =
        'For random keys, no filter of this size that lets no repeat through can expect fewer ' +
        'new keys skipped: 2 to the power of minus the bits per key, averaged over the keys ' +
        'and rounded down to whole keys.';
      items.push(create('li', { class: 'legend-entry' }, create('span', { class: 'dots' }), text, value));
    }
    this.#legend.replaceChildren(...items);
    this.#legend.classList.toggle('has-isolated', this.#isolated !== null);
  }

  /** Shows the rates at the cursor; without a cursor, those of the whole log. */
  #updateValues(): void {
    const { axis, position, lines, bound } = this.#data;
    const index = this.#plot?.cursor.idx ?? null;
    this.#showTip(index);
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

  #showTip(index: number | null): void {
    const { axis, lines, bound } = this.#data;
    if (this.#plot === undefined || index === null) {
      this.#tip.hide();
      return;
    }
    const rows: TipRow[] = lines
      .filter((line) => this.#isShown(line))
      .map(({ name, series, rates }) => ({ name, series, rate: rates[index] ?? null }));
    if (bound !== null) {
      rows.push({ name: 'least possible', series: null, rate: bound[index] ?? null });
    }
    this.#tip.show(this.#plot, axis.range(index), rows);
  }

  #label(): string {
    const { axis, lines, sample } = this.#data;
    const overall = lines.map((line) => `${line.name} ${formatShare(line.overall)}`);
    const axes = `${this.name} against ${axis.against}`;
    const of = sample === '' ? '' : ` A sample: ${sample}.`;
    return `Line chart: ${axes}.${of} Over all lines: ${overall.join('; ')}.`;
  }
}

/** uPlot needs null for a missing value. */
function withGaps(rates: Float64Array): (number | null)[] {
  return Array.from(rates, (rate) => (Number.isNaN(rate) ? null : rate));
}
