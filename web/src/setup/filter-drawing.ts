// A few cells before and after a new key comes, from the registry: `.` is empty, `#` a bit,
// a digit a count, a letter a fingerprint, `|` a gap.

import { make } from './element.js';
import type { FilterDescription } from './protocol.js';
import { svgElement, svgText } from './svg.js';

const CELL = 16;
const GAP = 2;
const LABEL = 50;

export function filterDrawing({ drawing }: FilterDescription): HTMLElement {
  const { before, after, caption } = drawing;
  return make(
    'figure',
    { class: 'filter-drawing' },
    picture('before', before, after, false),
    picture('after', after, before, true),
    make('figcaption', {}, caption),
  );
}

/** One of the two, with what differs in the other marked. The caption says it in words. */
function picture(name: string, rows: string[], other: string[], isAfter: boolean): SVGElement {
  const width = LABEL + Math.max(...rows.map((row) => row.length)) * (CELL + GAP);
  const height = rows.length * (CELL + GAP) + GAP;
  const svg = svgElement('svg', {
    viewBox: `0 0 ${width} ${height}`,
    width: String(width),
    height: String(height),
    'aria-hidden': 'true',
  });
  svg.append(svgText(0, CELL / 2 + GAP, name, { class: 'drawing-name' }));
  rows.forEach((row, line) => {
    [...row].forEach((cell, place) => {
      if (cell !== '|') {
        const x = LABEL + place * (CELL + GAP);
        const holdsMore = isMore(cell, other[line]?.[place] ?? '.', other[line] ?? '');
        const mark = !holdsMore ? '' : isAfter ? ' came' : ' goes';
        svg.append(...drawCell(x, GAP + line * (CELL + GAP), cell, mark));
      }
    });
  });
  return svg;
}

/** Whether a cell holds something that it does not hold in the other drawing, nor, if it is
 * a fingerprint, any other cell of the row. */
function isMore(cell: string, other: string, otherRow: string): boolean {
  if (/[a-z]/.test(cell)) {
    return !otherRow.includes(cell);
  }
  const count = (cell: string) => (cell === '#' ? 1 : Number(cell) || 0);
  return count(cell) > count(other);
}

function drawCell(x: number, y: number, cell: string, mark: string) {
  const kind = cell === '.' ? 'empty' : 'held';
  const box = svgElement('rect', {
    x: String(x),
    y: String(y),
    width: String(CELL),
    height: String(CELL),
    rx: '2',
    class: `drawing-cell ${kind}${mark}`,
  });
  if (cell === '.' || cell === '#') {
    return [box];
  }
  const half = CELL / 2;
  return [box, svgText(x + half, y + half + 0.5, cell, { class: `drawing-value${mark}` })];
}
