// Draws a few cells before and after a new key. The engine describes a cell by a character:
// `.` empty, `#` a set bit, a digit a count, a letter a fingerprint, `|` a gap.

import { create } from '../ui/element.js';
import { svgElement, svgText } from '../ui/svg.js';
import type { FilterDescription } from '../wasm/dedupstore_wasm.js';

const CELL = 16;
const GAP = 2;
const LABEL = 50;

export function filterDrawing({ drawing }: FilterDescription): HTMLElement {
  const { before, after, caption } = drawing;
  return create(
    'figure',
    { class: 'filter-drawing' },
    picture('before', before, after, false),
    picture('after', after, before, true),
    create('figcaption', {}, caption),
  );
}

/** One of the two pictures, with the differences from the other marked. */
function picture(name: string, rows: string[], other: string[], isAfter: boolean): SVGElement {
  const width = LABEL + Math.max(...rows.map((row) => row.length)) * (CELL + GAP);
  const height = rows.length * (CELL + GAP) + GAP;
  const svg = svgElement('svg', {
    viewBox: `0 0 ${width} ${height}`,
    width: String(width),
    height: String(height),
    // The caption describes it.
    'aria-hidden': 'true',
  });
  svg.append(svgText(0, CELL / 2 + GAP, name, { class: 'drawing-name' }));
  rows.forEach((row, rowIndex) => {
    const otherRow = other[rowIndex] ?? '';
    [...row].forEach((cell, column) => {
      if (cell !== '|') {
        const x = LABEL + column * (CELL + GAP);
        const isOnlyHere = holdsMore(cell, otherRow[column] ?? '.', otherRow);
        const mark = !isOnlyHere ? '' : isAfter ? ' added' : ' removed';
        svg.append(...drawCell(x, GAP + rowIndex * (CELL + GAP), cell, mark));
      }
    });
  });
  return svg;
}

/**
 * Whether a cell holds more than in the other picture. A fingerprint counts only if no cell
 * of the other row holds it.
 */
function holdsMore(cell: string, other: string, otherRow: string): boolean {
  if (/[a-z]/.test(cell)) {
    return !otherRow.includes(cell);
  }
  const count = (cell: string) => (cell === '#' ? 1 : Number(cell) || 0);
  return count(cell) > count(other);
}

function drawCell(x: number, y: number, cell: string, mark: string) {
  const kind = cell === '.' ? 'empty' : 'in-use';
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
