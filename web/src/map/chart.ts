// A scatter chart of new keys dropped against repeats missed, one point per setting. Lines
// join the points of one filter, and the Pareto-optimal points of one memory size.

import { formatShareTick } from '../ui/number-format.js';
import { COLOUR_COUNT } from '../ui/palette.js';
import { svgElement, svgText } from '../ui/svg.js';
import type { Outcome } from '../wasm/dedupstore_wasm.js';

const SIZE = 460;
const LEFT = 56;
const BOTTOM = 44;
const TICKS = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 1];

export interface MapPoint {
  outcome: Outcome;
  /** The index of the filter, which decides the colour. */
  filterIndex: number;
  /** Grows with the memory. */
  radius: number;
}

export interface MapListener {
  /** The pointer or the keyboard is at a point; null if it has left. */
  pointed(point: MapPoint | null): void;
  chosen(point: MapPoint): void;
}

/** The outcomes that no other one beats in one rate without losing in the other. */
export function paretoFront(outcomes: Outcome[]): Outcome[] {
  const rates = ({ fpr, fnr }: Outcome): [number, number] => [fpr ?? 0, fnr ?? 0];
  const sorted = outcomes.toSorted((a, b) => rates(a)[0] - rates(b)[0] || rates(a)[1] - rates(b)[1]);
  let lowest = Infinity;
  return sorted.filter((outcome) => {
    const isBetter = rates(outcome)[1] < lowest;
    lowest = Math.min(lowest, rates(outcome)[1]);
    return isBetter;
  });
}

export function drawMap(points: MapPoint[], fronts: Outcome[][], listener: MapListener): SVGElement {
  const picture = svgElement('svg', { viewBox: `0 0 ${SIZE} ${SIZE}`, class: 'map-drawing' });
  const top = Math.max(...points.flatMap(({ outcome }) => [outcome.fpr ?? 0, outcome.fnr ?? 0]), 0.01);
  // A square-root scale separates small rates.
  const along = (rate: number) => (Math.sqrt(rate) / Math.sqrt(top)) * (SIZE - LEFT - 20);
  const x = ({ fpr }: Outcome) => LEFT + along(fpr ?? 0);
  const y = ({ fnr }: Outcome) => SIZE - BOTTOM - along(fnr ?? 0);
  const line = (outcomes: Outcome[], className: string) =>
    svgElement('path', {
      class: className,
      d: outcomes.map((it, index) => `${index === 0 ? 'M' : 'L'}${x(it)} ${y(it)}`).join(''),
    });
  for (const tick of TICKS.filter((tick) => tick <= top)) {
    const [across, up] = [LEFT + along(tick), SIZE - BOTTOM - along(tick)];
    picture.append(
      svgElement('path', {
        class: 'map-rule',
        d: `M${across} ${SIZE - BOTTOM}V12M${LEFT} ${up}H${SIZE - 12}`,
      }),
      label(across, SIZE - BOTTOM + 16, 'middle', formatShareTick(tick)),
      label(LEFT - 6, up + 4, 'end', formatShareTick(tick)),
    );
  }
  picture.append(
    label(SIZE / 2 + LEFT / 2, SIZE - 6, 'middle', 'new keys dropped (FPR)'),
    label(LEFT, 10, 'start', 'repeats missed (FNR)'),
  );
  fronts.forEach((outcomes) => picture.append(line(outcomes, 'map-front')));
  for (const filterIndex of new Set(points.map((point) => point.filterIndex))) {
    const ofFilter = points.filter((point) => point.filterIndex === filterIndex);
    const outcomes = ofFilter.map((point) => point.outcome);
    picture.append(line(outcomes, `map-path series-${filterIndex % COLOUR_COUNT}`));
  }
  for (const point of points) {
    const dot = svgElement('circle', {
      class: `map-point fill-${point.filterIndex % COLOUR_COUNT}`,
      cx: String(x(point.outcome)),
      cy: String(y(point.outcome)),
      r: String(point.radius),
    });
    dot.addEventListener('mouseenter', () => listener.pointed(point));
    dot.addEventListener('mouseleave', () => listener.pointed(null));
    dot.addEventListener('click', () => listener.chosen(point));
    picture.append(dot);
  }
  return picture;
}

function label(x: number, y: number, anchor: string, content: string): SVGElement {
  return svgText(x, y, content, { 'text-anchor': anchor, class: 'map-text' });
}
