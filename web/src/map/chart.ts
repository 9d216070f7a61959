// New keys dropped against repeats missed, a point a setting. Points of one filter are
// joined, memory by memory; so are the best of one memory, which nothing beats both ways.

import { formatShareTick } from './number-format.js';
import { COLOUR_COUNT } from './palette.js';
import type { OutcomeRow } from './protocol.js';
import { svgElement, svgText } from './svg.js';

const SIZE = 460;
const LEFT = 56;
const BOTTOM = 44;
const TICKS = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 1];

export interface MapPoint {
  row: OutcomeRow;
  /** The filter's place in the list, which is its look. */
  place: number;
  /** Larger memory, larger point. */
  radius: number;
}

export interface MapListener {
  pointed(point: MapPoint | null): void;
  picked(point: MapPoint): void;
}

/** The settings that no other of the same memory beats in one rate without losing in the other. */
export function front(rows: OutcomeRow[]): OutcomeRow[] {
  const rates = ({ fpr, fnr }: OutcomeRow): [number, number] => [fpr ?? 0, fnr ?? 0];
  const sorted = rows.toSorted((a, b) => rates(a)[0] - rates(b)[0] || rates(a)[1] - rates(b)[1]);
  let least = Infinity;
  return sorted.filter((row) => {
    const isBetter = rates(row)[1] < least;
    least = Math.min(least, rates(row)[1]);
    return isBetter;
  });
}

export function drawMap(points: MapPoint[], fronts: OutcomeRow[][], listener: MapListener): SVGElement {
  const picture = svgElement('svg', { viewBox: `0 0 ${SIZE} ${SIZE}`, class: 'map-drawing' });
  const top = Math.max(...points.flatMap(({ row }) => [row.fpr ?? 0, row.fnr ?? 0]), 0.01);
  // Roots, so that small rates are told apart.
  const along = (rate: number) => (Math.sqrt(rate) / Math.sqrt(top)) * (SIZE - LEFT - 20);
  const x = ({ fpr }: OutcomeRow) => LEFT + along(fpr ?? 0);
  const y = ({ fnr }: OutcomeRow) => SIZE - BOTTOM - along(fnr ?? 0);
  const line = (rows: OutcomeRow[], className: string) =>
    svgElement('path', {
      class: className,
      d: rows.map((row, index) => `${index === 0 ? 'M' : 'L'}${x(row)} ${y(row)}`).join(''),
    });
  for (const tick of TICKS.filter((tick) => tick <= top)) {
    const [across, up] = [LEFT + along(tick), SIZE - BOTTOM - along(tick)];
    picture.append(
      svgElement('path', { class: 'map-rule', d: `M${across} ${SIZE - BOTTOM}V12M${LEFT} ${up}H${SIZE - 12}` }),
      text(across, SIZE - BOTTOM + 16, 'middle', formatShareTick(tick)),
      text(LEFT - 6, up + 4, 'end', formatShareTick(tick)),
    );
  }
  picture.append(
    text(SIZE / 2 + LEFT / 2, SIZE - 6, 'middle', 'new keys dropped (FPR)'),
    text(LEFT, 10, 'start', 'repeats missed (FNR)'),
  );
  fronts.forEach((rows) => picture.append(line(rows, 'map-front')));
  for (const place of new Set(points.map((point) => point.place))) {
    const rows = points.filter((point) => point.place === place).map((point) => point.row);
    picture.append(line(rows, `map-path series-${place % COLOUR_COUNT}`));
  }
  for (const point of points) {
    const dot = svgElement('circle', {
      class: `map-point fill-${point.place % COLOUR_COUNT}`,
      cx: String(x(point.row)),
      cy: String(y(point.row)),
      r: String(point.radius),
    });
    dot.addEventListener('mouseenter', () => listener.pointed(point));
    dot.addEventListener('mouseleave', () => listener.pointed(null));
    dot.addEventListener('click', () => listener.picked(point));
    picture.append(dot);
  }
  return picture;
}

function text(x: number, y: number, anchor: string, content: string): SVGElement {
  return svgText(x, y, content, { 'text-anchor': anchor, class: 'map-text' });
}
