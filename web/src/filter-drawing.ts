// A few cells before and after a new key comes, from the registry: `.` is empty, `#` a bit,
// a digit a count, a letter a fingerprint, `|` a gap.

import { make } from './element.js';
import type { FilterDescription } from './protocol.js';

const SVG = 'http://www.w3.org/2000/svg';
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
  const svg = element('svg', {
    viewBox: `0 0 ${width} ${height}`,
    width: String(width),
    height: String(height),
    'aria-hidden': 'true',
  });
  svg.append(text(0, CELL / 2 + GAP, name, 'drawing-name'));
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
  const box = element('rect', {
    x: String(x),
    y: String(y),
    width: String(CELL),
    height: String(CELL),
    rx: '2',
    class: `drawing-cell ${kind}${mark}`,
  });
  const isText = cell !== '.' && cell !== '#';
  return isText ? [box, text(x + CELL / 2, y + CELL / 2 + 0.5, cell, `drawing-value${mark}`)] : [box];
}

function element(tag: string, attributes: Record<string, string>): SVGElement {
  const made = document.createElementNS(SVG, tag);
  Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
  return made;
}

function text(x: number, y: number, content: string, className: string): SVGElement {
  const made = element('text', { x: String(x), y: String(y), class: className });
  made.textContent = content;
  return made;
}
