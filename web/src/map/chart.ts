// A scatter chart with one point per setting: all errors against memory, or new keys skipped
// against repeats let through. Lines join the points of one filter, and the best points.

import { heightOf, ticksUpTo, topOf } from '../results/scale.js';
import { formatBytes, formatShareTick } from '../ui/number-format.js';
import type { Series } from '../ui/palette.js';
import { svgElement, svgText } from '../ui/svg.js';
import type { Outcome } from '../wasm/dedupstore_wasm.js';

const HEIGHT = 400;
const LEFT = 60;
const RIGHT = 30;
const TOP = 26;
const BOTTOM = 48;
const MIN_RADIUS = 3;
const RADIUS_STEP = 0.75;
/** In the chart against memory all points have the same size, smaller if there are many. */
const RADIUS = 5;
const MIN_MEMORY_RADIUS = 2;
/** In narrower columns, every second one has a label. */
const MIN_LABELLED_WIDTH = 46;
/** Labels nearer than this to another are left out. */
const LABEL_DISTANCE = 16;

export type MapAxes = 'memory' | 'errors';

export interface MapPoint {
  outcome: Outcome;
  /** The index of the filter in the plan. */
  filterIndex: number;
  /** The index of the memory, the smallest first. */
  memoryIndex: number;
  series: Series;
}

export interface MapListener {
  /** The pointer or the keyboard is at a point; null if it has left. */
  pointed(point: MapPoint | null): void;
  chosen(point: MapPoint): void;
}

/** The points that no other one beats in one rate without losing in the other. */
export function paretoFront(points: MapPoint[]): MapPoint[] {
  const rates = ({ outcome: { fpr, fnr } }: MapPoint): [number, number] => [fpr ?? 0, fnr ?? 0];
  const sorted = points.toSorted((a, b) => rates(a)[0] - rates(b)[0] || rates(a)[1] - rates(b)[1]);
  let lowest = Infinity;
  return sorted.filter((point) => {
    const isBetter = rates(point)[1] < lowest;
    lowest = Math.min(lowest, rates(point)[1]);
    return isBetter;
  });
}

/** The points of each memory, the smallest memory first. */
export function byMemory(points: MapPoint[]): MapPoint[][] {
  const indices = [...new Set(points.map(({ memoryIndex }) => memoryIndex))].sort((a, b) => a - b);
  return indices.map((index) => points.filter(({ memoryIndex }) => memoryIndex === index));
}

interface Place {
  x: number;
  y: number;
}

/** Draws the map as wide as its frame, so that text has its normal size. */
export function drawMap(
  points: MapPoint[],
  axes: MapAxes,
  width: number,
  listener: MapListener,
): SVGElement {
  const picture = svgElement('svg', { viewBox: `0 0 ${width} ${HEIGHT}`, class: 'map-drawing' });
  const place = axes === 'memory'
      ? drawMemoryAxes(picture, points, width)
      : drawErrorAxes(picture, points, width);
  const join = (joined: MapPoint[], className: string) => {
    const places = joined.map(place);
    const d = places.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${x} ${y}`).join('');
    picture.append(svgElement('path', { class: className, d }));
  };
  for (const index of new Set(points.map(({ filterIndex }) => filterIndex))) {
    const ofFilter = points.filter(({ filterIndex }) => filterIndex === index);
    join(ofFilter, `map-path series-${ofFilter[0]?.series.colour}`);
  }
  const labels: { text: string; at: Place }[] = [];
  let labelled: number | undefined;
  for (const group of byMemory(points)) {
    const front = paretoFront(group);
    const best = group.toSorted((a, b) => errorOf(a) - errorOf(b))[0];
    if (axes === 'errors') {
      join(front, 'map-front');
      const last = front.at(-1);
      if (last !== undefined) {
        labels.push({ text: formatBytes(last.outcome.memoryBits / 8), at: place(last) });
      }
    } else if (best !== undefined && best.filterIndex !== labelled) {
      // Once for neighbouring memories with the same best filter.
      labelled = best.filterIndex;
      labels.push({ text: best.outcome.name, at: place(best) });
    }
  }
  // Large points first, so that small ones stay visible.
  const radius = ({ memoryIndex }: MapPoint) =>
    axes === 'memory'
      ? Math.max(MIN_MEMORY_RADIUS, Math.min(RADIUS, (columnsOf(points, width).step - 1) / 2))
      : MIN_RADIUS + memoryIndex * RADIUS_STEP;
  const elements = points.map((point) => pointElement(point, place(point), radius(point), listener));
  const order = points.map((_, index) => index);
  order.sort((a, b) => (points[b]?.memoryIndex ?? 0) - (points[a]?.memoryIndex ?? 0));
  picture.append(...order.flatMap((index) => elements[index] ?? []));
  elements.forEach((element, index) => element.setAttribute('data-index', String(index)));
  picture.append(...labelElements(labels, axes, width));
  return picture;
}

function errorOf({ outcome }: MapPoint): number {
  return outcome.error ?? 0;
}

function pointElement(
  point: MapPoint,
  { x, y }: Place,
  radius: number,
  listener: MapListener,
): SVGElement {
  const dot = svgElement('circle', {
    class: `map-point fill-${point.series.colour}`,
    cx: String(x),
    cy: String(y),
    r: String(radius),
  });
  dot.addEventListener('mouseenter', () => listener.pointed(point));
  dot.addEventListener('mouseleave', () => listener.pointed(null));
  dot.addEventListener('click', () => listener.chosen(point));
  return dot;
}

/** Columns of memory sizes. The points of a column stand side by side. */
function drawMemoryAxes(picture: SVGElement, points: MapPoint[], width: number): (point: MapPoint) => Place {
  const { groups, filterCount, columnWidth, step } = columnsOf(points, width);
  const columns = new Map(groups.map((group, index) => [group[0]?.memoryIndex, index]));
  const middle = (column: number) => LEFT + (column + 0.5) * columnWidth;
  const y = drawRateAxis(picture, points.map(errorOf), width);
  groups.forEach((group, column) => {
    const memory = formatBytes((group[0]?.outcome.memoryBits ?? 0) / 8);
    if (columnWidth < MIN_LABELLED_WIDTH && column % 2 === 1) {
      return;
    }
    picture.append(label(middle(column), HEIGHT - BOTTOM + 18, 'middle', memory));
  });
  picture.append(
    label((LEFT + width - RIGHT) / 2, HEIGHT - 8, 'middle', 'memory of the filter'),
    label(LEFT, 12, 'start', 'all wrong answers, as a share of lines'),
  );
  return (point) => ({
    x: middle(columns.get(point.memoryIndex) ?? 0) + (point.filterIndex - (filterCount - 1) / 2) * step,
    y: y(errorOf(point)),
  });
}

/** The columns of the chart against memory, and the distance between neighbouring points. */
function columnsOf(points: MapPoint[], width: number) {
  const groups = byMemory(points);
  const filterCount = 1 + Math.max(...points.map(({ filterIndex }) => filterIndex), 0);
  const columnWidth = (width - LEFT - RIGHT) / Math.max(groups.length, 1);
  return { groups, filterCount, columnWidth, step: Math.min(11, (columnWidth * 0.8) / filterCount) };
}

/** Both axes show rates on a square-root scale, which separates small ones. */
function drawErrorAxes(picture: SVGElement, points: MapPoint[], width: number): (point: MapPoint) => Place {
  const fpr = ({ outcome }: MapPoint) => outcome.fpr ?? 0;
  const fnr = ({ outcome }: MapPoint) => outcome.fnr ?? 0;
  const y = drawRateAxis(picture, points.map(fnr), width);
  const top = topOf(points.map(fpr));
  const x = (rate: number) => LEFT + heightOf(rate, top, 'root') * (width - LEFT - RIGHT);
  for (const tick of ticksUpTo(top, 'root')) {
    picture.append(
      svgElement('path', { class: 'map-rule', d: `M${x(tick)} ${HEIGHT - BOTTOM}V${TOP}` }),
      label(x(tick), HEIGHT - BOTTOM + 18, 'middle', formatShareTick(tick)),
    );
  }
  picture.append(
    label((LEFT + width - RIGHT) / 2, HEIGHT - 8, 'middle', 'new keys skipped (FPR)'),
    label(LEFT, 12, 'start', 'repeats let through (FNR)'),
    ...sizeKey(points, width),
  );
  return (point) => ({ x: x(fpr(point)), y: y(fnr(point)) });
}

function drawRateAxis(picture: SVGElement, rates: number[], width: number): (rate: number) => number {
  const top = topOf(rates);
  const y = (rate: number) => HEIGHT - BOTTOM - heightOf(rate, top, 'root') * (HEIGHT - BOTTOM - TOP);
  for (const tick of ticksUpTo(top, 'root')) {
    picture.append(
      svgElement('path', { class: 'map-rule', d: `M${LEFT} ${y(tick)}H${width - RIGHT}` }),
      label(LEFT - 6, y(tick) + 4, 'end', formatShareTick(tick)),
    );
  }
  return y;
}

/** What the sizes of points mean: the smallest and the largest memory. */
function sizeKey(points: MapPoint[], width: number): SVGElement[] {
  const groups = byMemory(points);
  const ends = [groups[0]?.[0], groups.at(-1)?.[0]];
  return ends.flatMap((point, index) => {
    if (point === undefined) {
      return [];
    }
    const y = TOP + 12 + index * 18;
    const r = String(MIN_RADIUS + point.memoryIndex * RADIUS_STEP);
    const memory = formatBytes(point.outcome.memoryBits / 8);
    return [
      svgElement('circle', { class: 'map-size', cx: String(width - 80), cy: String(y), r }),
      label(width - 66, y + 4, 'start', memory),
    ];
  });
}

function labelElements(
  labels: { text: string; at: Place }[],
  axes: MapAxes,
  width: number,
): SVGElement[] {
  const placed: Place[] = [];
  const isFree = ({ x, y }: Place) =>
    placed.every((other) => Math.abs(other.x - x) > 60 || Math.abs(other.y - y) > LABEL_DISTANCE);
  return labels.flatMap(({ text, at }) => {
    const y = axes === 'memory' ? Math.min(at.y + 20, HEIGHT - BOTTOM - 4) : at.y - 10;
    const where = { x: Math.min(at.x + (axes === 'memory' ? -4 : 8), width - 60), y };
    if (!isFree(where)) {
      return [];
    }
    placed.push(where);
    return [svgText(where.x, where.y, text, { 'text-anchor': 'start', class: 'map-text map-label' })];
  });
}

function label(x: number, y: number, anchor: string, content: string): SVGElement {
  return svgText(x, y, content, { 'text-anchor': anchor, class: 'map-text' });
}
