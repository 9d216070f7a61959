// The colour and dash pattern of each filter, by its index in the list. The dash pattern
// distinguishes lines for users who cannot distinguish the colours.

import { svgElement } from './svg.js';

const DASHES: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
/** The number of `--series-` colours in the style sheet. */
export const COLOUR_COUNT = 6;

export interface LineStyle {
  colour: string;
  dash: readonly number[];
}

export function lineStyle(index: number): LineStyle {
  const style = getComputedStyle(document.documentElement);
  return {
    colour: style.getPropertyValue(`--series-${index % COLOUR_COUNT}`).trim(),
    dash: dash(index),
  };
}

function dash(index: number): readonly number[] {
  return DASHES[index % DASHES.length] ?? [];
}

/** A short piece of the line that the charts draw for a filter. */
export function swatch(index: number): SVGElement {
  const picture = svgElement('svg', {
    class: `swatch series-${index % COLOUR_COUNT}`,
    viewBox: '0 0 24 8',
    'aria-hidden': 'true',
  });
  picture.append(
    svgElement('path', { d: 'M0 4H24', 'stroke-dasharray': dash(index).join(' ') }),
  );
  return picture;
}
