// Lines over time: a bar a span, and the same as a table.

import { find, make, uniqueId } from './element.js';
import { formatCount } from './number-format.js';
import type { RateData } from './protocol.js';

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 600;
const HEIGHT = 64;

const WIDTHS: readonly [number, string][] = [
  [86_400, 'day'],
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
const DAY = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' });

export class RateView {
  readonly #root = find('rate', HTMLElement);
  readonly #caption = make('h4', { class: 'rate-caption' });
  readonly #drawing = make('div', { class: 'rate-drawing', role: 'img' });
  readonly #ends = make('p', { class: 'rate-ends hint' });
  readonly #body = make('tbody');
  readonly #twin: HTMLDetailsElement;
  #rate: RateData | undefined;

  constructor() {
    const id = uniqueId();
    const caption = make('caption', { id }, 'Lines in each span of time');
    const head = make(
      'thead',
      {},
      make('tr', {}, make('th', { scope: 'col' }, 'From (UTC)'), make('th', { scope: 'col' }, 'Lines')),
    );
    const table = make('table', { class: 'numbers' }, caption, head, this.#body);
    const scroll = make('div', { class: 'rate-scroll', tabindex: '0', role: 'region' }, table);
    scroll.setAttribute('aria-labelledby', id);
    this.#twin = make('details', {}, make('summary', {}, 'The rate as a table'), scroll);
    this.#twin.addEventListener('toggle', () => this.#writeTwin());
    this.#root.append(this.#caption, this.#drawing, this.#ends, this.#twin);
  }

  show(rate: RateData | null): void {
    this.#root.hidden = rate === null;
    if (rate === null) {
      return;
    }
    this.#rate = rate;
    const { counts, fromSeconds, widthSeconds } = rate;
    const most = Math.max(...counts);
    const span = inWords(widthSeconds);
    this.#caption.textContent = `Lines over time, ${span} a bar`;
    this.#drawing.replaceChildren(bars(counts, most));
    const [start, end] = [fromSeconds, fromSeconds + counts.length * widthSeconds];
    this.#ends.replaceChildren(
      make('span', {}, moment(start, widthSeconds)),
      make('span', {}, `at most ${formatCount(most)}`),
      make('span', {}, `${moment(end, widthSeconds)} UTC`),
    );
    const label = `Bar chart: lines in each span of ${span}, from ${moment(start, widthSeconds)} to ${moment(end, widthSeconds)} UTC, ${formatCount(most)} at most. The table below has the same.`;
    this.#drawing.setAttribute('aria-label', label);
    this.#writeTwin();
  }

  /** Only where it is seen: it would be written ten times a second. */
  #writeTwin(): void {
    const rate = this.#rate;
    if (rate === undefined || !this.#twin.open) {
      return;
    }
    const rows = rate.counts.map((count, place) => {
      const start = moment(rate.fromSeconds + place * rate.widthSeconds, rate.widthSeconds);
      return make('tr', {}, make('th', { scope: 'row' }, start), make('td', {}, formatCount(count)));
    });
    this.#body.replaceChildren(...rows);
  }
}

function bars(counts: number[], most: number): SVGElement {
  const picture = document.createElementNS(SVG, 'svg');
  picture.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
  picture.setAttribute('preserveAspectRatio', 'none');
  const step = WIDTH / counts.length;
  const path = counts.map((count, place) => {
    const height = (count / Math.max(most, 1)) * HEIGHT;
    return `M${(place * step).toFixed(2)} ${HEIGHT}v${-height}h${(step * 0.86).toFixed(2)}v${height}z`;
  });
  const drawn = document.createElementNS(SVG, 'path');
  drawn.setAttribute('d', path.join(''));
  picture.append(drawn);
  return picture;
}

function inWords(seconds: number): string {
  const [unit, name] = WIDTHS.find(([unit]) => seconds % unit === 0) ?? [1, 'second'];
  const count = seconds / unit;
  return `${formatCount(count)} ${name}${count === 1 ? '' : 's'}`;
}

function moment(seconds: number, widthSeconds: number): string {
  return (widthSeconds % 86_400 === 0 ? DAY : TIME).format(seconds * 1000);
}
