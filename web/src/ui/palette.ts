// The colour and dash pattern of each filter. Both follow from the filter's name, so that a filter
// looks the same in every run. The dash pattern distinguishes lines for users who cannot
// distinguish the colours.

import { svgElement } from './svg.js';

const DASHES: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
/** The number of `--series-` colours in the style sheet. */
export const COLOUR_COUNT = 6;
/** The first filters of the list have the most different styles: they are compared most often. */
const FILTERS = [
  'bloom', 'stable', 'rlbsbf', 'word', 'blocked', 'quotient',
  'growing', 'slot', 'bsbf', 'rsbf', 'counting', 'aging',
  'apbf', 'recent', 'sqf', 'dsqf', 'bsbfsd', 'stamped',
  'window', 'buffer', 'fpbuffer', 'ibf', 'reinsert', 'admit',
];

/** How a line is drawn: the index of its colour and of its dash pattern. */
export interface Series {
  colour: number;
  dash: number;
}

export interface LineStyle {
  colour: string;
  dash: readonly number[];
}

/** The styles of filters by their text forms. Variants of one filter differ in the dash pattern. */
export function seriesOf(filters: readonly string[]): Series[] {
  const variants = new Map<string, number>();
  return filters.map((filter) => {
    const name = filter.split(':')[0] ?? '';
    const place = FILTERS.indexOf(name.replace(/^ibf\d$/, 'ibf'));
    const variant = variants.get(name) ?? 0;
    variants.set(name, variant + 1);
    const index = place >= 0 ? place : [...name].reduce((sum, it) => sum + it.charCodeAt(0), 0);
    return {
      colour: index % COLOUR_COUNT,
      dash: (Math.floor(index / COLOUR_COUNT) + variant) % DASHES.length,
    };
  });
}

/** Styles for several values of one parameter, in their order. */
export function seriesInOrder(count: number): Series[] {
  return Array.from({ length: count }, (_, index) => ({
    colour: index % COLOUR_COUNT,
    dash: Math.floor(index / COLOUR_COUNT) % DASHES.length,
  }));
}

/** The style in the page's colour scheme, or on white. */
export function lineStyle({ colour, dash }: Series, isOnWhite = false): LineStyle {
  const name = `--series-${colour}`;
  return { colour: isOnWhite ? colourOnWhite(name) : themeColour(name), dash: DASHES[dash] ?? [] };
}

function themeColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The light colour scheme's value of a custom property. */
function colourOnWhite(name: string): string {
  const probe = document.createElement('span');
  probe.className = 'on-white';
  document.body.append(probe);
  const colour = getComputedStyle(probe).getPropertyValue(name).trim();
  probe.remove();
  return colour;
}

/** A short piece of the line that the charts draw for a filter. */
export function swatch({ colour, dash }: Series): SVGElement {
  const picture = svgElement('svg', {
    class: `swatch series-${colour}`,
    viewBox: '0 0 24 8',
    'aria-hidden': 'true',
  });
  picture.append(
    svgElement('path', { d: 'M0 4H24', 'stroke-dasharray': (DASHES[dash] ?? []).join(' ') }),
  );
  return picture;
}
