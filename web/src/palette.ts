// How a filter looks wherever it is drawn: by its place in the list, a colour and a
// stroke. The stroke tells lines apart for those who cannot tell the colours.

const STROKES: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
/** How many `--series-` colours the style sheet has. */
export const COLOUR_COUNT = 6;

export interface Look {
  colour: string;
  dash: readonly number[];
}

export function look(place: number): Look {
  const style = getComputedStyle(document.documentElement);
  return {
    colour: style.getPropertyValue(`--series-${place % COLOUR_COUNT}`).trim(),
    dash: dash(place),
  };
}

function dash(place: number): readonly number[] {
  return STROKES[place % STROKES.length] ?? [];
}

const SVG = 'http://www.w3.org/2000/svg';

/** A piece of the line that the charts draw for the filter in a place. */
export function swatch(place: number): SVGElement {
  const picture = document.createElementNS(SVG, 'svg');
  picture.setAttribute('class', `swatch series-${place % COLOUR_COUNT}`);
  picture.setAttribute('viewBox', '0 0 24 8');
  picture.setAttribute('aria-hidden', 'true');
  const line = document.createElementNS(SVG, 'path');
  line.setAttribute('d', 'M0 4H24');
  line.setAttribute('stroke-dasharray', dash(place).join(' '));
  picture.append(line);
  return picture;
}
