// Lines over time, as bars and as a table.

import { create, find, uniqueId } from '../ui/element.js';
import { formatCount, formatCounted } from '../ui/number-format.js';
import { svgElement } from '../ui/svg.js';
import type { LinesOverTime } from '../wasm/dedupstore_wasm.js';

const WIDTH = 600;
const HEIGHT = 64;
const DAY_SECONDS = 86_400;

const UNITS: readonly [number, string][] = [
  [DAY_SECONDS, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
];

const TIME = new Intl.DateTimeFormat('en', {
  dateStyle: 'medium',
  timeStyle: 'medium',
  hour12: false,
  timeZone: 'UTC',
});
const DATE = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' });

export class LinesOverTimeView {
  readonly #root = find('lines-over-time', HTMLElement);
  readonly #caption = create('h4', { class: 'time-caption' });
  readonly #drawing = create('div', { class: 'time-drawing', role: 'img' });
  readonly #range = create('p', { class: 'time-range hint' });
  readonly #body = create('tbody');
  readonly #table: HTMLDetailsElement;
  #lines: LinesOverTime | undefined;

  constructor() {
    const id = uniqueId();
    const caption = create('caption', { id }, 'Lines in each interval');
    const headings = ['Start (UTC)', 'Lines'].map((text) => create('th', { scope: 'col' }, text));
    const head = create('thead', {}, create('tr', {}, ...headings));
    const table = create('table', { class: 'numbers' }, caption, head, this.#body);
    const scroll = create('div', { class: 'time-scroll', tabindex: '0', role: 'region' }, table);
    scroll.setAttribute('aria-labelledby', id);
    this.#table = create('details', {}, create('summary', {}, 'Lines over time as a table'), scroll);
    this.#table.addEventListener('toggle', () => this.#fillTable());
    this.#root.append(this.#caption, this.#drawing, this.#range, this.#table);
  }

  show(lines: LinesOverTime | null): void {
    this.#root.hidden = lines === null;
    if (lines === null) {
      return;
    }
    this.#lines = lines;
    const { counts, startSeconds, intervalSeconds } = lines;
    const largest = Math.max(...counts);
    const interval = duration(intervalSeconds);
    const start = formatTime(startSeconds, intervalSeconds);
    const end = formatTime(startSeconds + counts.length * intervalSeconds, intervalSeconds);
    this.#caption.textContent = `Lines over time, ${interval} per bar`;
    this.#drawing.replaceChildren(bars(counts, largest));
    this.#range.replaceChildren(
      create('span', {}, start),
      create('span', {}, `at most ${formatCount(largest)}`),
      create('span', {}, `${end} UTC`),
    );
    this.#drawing.setAttribute(
      'aria-label',
      `Bar chart: lines per ${interval}, from ${start} to ${end} UTC, at most ` +
        `${formatCount(largest)}. The table below has the same numbers.`,
    );
    this.#fillTable();
  }

  /** Only if it is open: a run updates it several times per second. */
  #fillTable(): void {
    const lines = this.#lines;
    if (lines === undefined || !this.#table.open) {
      return;
    }
    const { counts, startSeconds, intervalSeconds } = lines;
    const rows = counts.map((count, index) => {
      const start = formatTime(startSeconds + index * intervalSeconds, intervalSeconds);
      const heading = create('th', { scope: 'row' }, start);
      return create('tr', {}, heading, create('td', {}, formatCount(count)));
    });
    this.#body.replaceChildren(...rows);
  }
}

function bars(counts: number[], largest: number): SVGElement {
  const step = WIDTH / counts.length;
  const paths = counts.map((count, index) => {
    const height = (count / Math.max(largest, 1)) * HEIGHT;
    const width = (step * 0.86).toFixed(2);
    return `M${(index * step).toFixed(2)} ${HEIGHT}v${-height}h${width}v${height}z`;
  });
  const picture = svgElement('svg', {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: 'none',
  });
  picture.append(svgElement('path', { d: paths.join('') }));
  return picture;
}

function duration(seconds: number): string {
  const [unit, name] = UNITS.find(([unit]) => seconds % unit === 0) ?? [1, 'second'];
  return formatCounted(seconds / unit, name);
}

function formatTime(seconds: number, intervalSeconds: number): string {
  return (intervalSeconds % DAY_SECONDS === 0 ? DATE : TIME).format(seconds * 1000);
}
