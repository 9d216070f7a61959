// Writes a chart as a self-contained picture on white with its title and legend, for papers and
// slides.

import { formatShare, formatShareTick, formatShortCount } from '../ui/number-format.js';
import { lineStyle } from '../ui/palette.js';
import type { ChartData } from './rate-chart.js';
import { type Scale, heightOf, ticksUpTo, topOf } from './scale.js';

const WIDTH = 720;
const HEIGHT = 380;
const LEFT = 64;
const RIGHT = 24;
const TOP = 64;
const BOTTOM = 56;
const LEGEND_LINE = 20;
const POSITION_TICKS = 5;

/** What a picture says besides its lines. */
export interface ChartText {
  title: string;
  /** The log, key and memory. */
  subtitle: string;
}

export function chartSvg(text: ChartText, data: ChartData, scale: Scale, showsTheory: boolean): string {
  const { axis, position, lines, bound } = data;
  const end = Math.max(...position, 1);
  const shown = [
    ...lines.flatMap(({ rates, predicted }) => [...rates, ...(showsTheory ? predicted : [])]),
    ...(bound ?? []),
  ];
  const top = topOf(shown);
  const x = (value: number) => LEFT + (value / end) * (WIDTH - LEFT - RIGHT);
  const y = (rate: number) => TOP + (1 - heightOf(rate, top, scale)) * (HEIGHT - TOP - BOTTOM);
  const path = (rates: Float64Array) =>
    [...rates]
      .flatMap((rate, index) => {
        const at = position[index];
        return Number.isNaN(rate) || at === undefined ? [] : [`${round(x(at))} ${round(y(rate))}`];
      })
      .map((point, index) => (index === 0 ? 'M' : 'L') + point)
      .join('');
  const positions = Array.from({ length: POSITION_TICKS }, (_, index) => (index / (POSITION_TICKS - 1)) * end);
  const legendAt = (index: number) => HEIGHT + 8 + index * LEGEND_LINE;
  const parts = [
    `<text x="${LEFT}" y="24" font-size="16" font-weight="600">${escape(text.title)}</text>`,
    `<text x="${LEFT}" y="44" fill="#555">${escape(text.subtitle)}</text>`,
    ...ticksUpTo(top, scale).map(
      (rate) =>
        `<path d="M${LEFT} ${round(y(rate))}H${WIDTH - RIGHT}" stroke="#ddd"/>` +
        `<text x="${LEFT - 8}" y="${round(y(rate)) + 4}" text-anchor="end">${formatShareTick(rate)}</text>`,
    ),
    ...positions.map(
      (at) =>
        `<text x="${round(x(at))}" y="${HEIGHT - BOTTOM + 20}" text-anchor="middle">` +
        `${formatShortCount(Math.round(at))}</text>`,
    ),
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 16}" text-anchor="middle" fill="#555">${escape(axis.label)}</text>`,
    ...lines.flatMap(({ name, series, overall, rates, predicted }, index) => {
      const { colour, dash } = lineStyle(series, true);
      const stroke = `fill="none" stroke="${colour}" stroke-dasharray="${dash.join(' ')}"`;
      return [
        showsTheory
          ? `<path d="${path(predicted)}" fill="none" stroke="${colour}" stroke-width="0.75"/>`
          : '',
        `<path d="${path(rates)}" ${stroke} stroke-width="1.75"/>`,
        `<path d="M${LEFT} ${legendAt(index)}h28" ${stroke} stroke-width="2"/>`,
        `<text x="${LEFT + 36}" y="${legendAt(index) + 4}">${escape(name)}, ${formatShare(overall)}</text>`,
      ];
    }),
    bound === null
      ? ''
      : `<path d="${path(bound)}" fill="none" stroke="#666" stroke-width="2" stroke-dasharray="1 4"/>` +
        `<path d="M${LEFT} ${legendAt(lines.length)}h28" stroke="#666" stroke-width="2" stroke-dasharray="1 4"/>` +
        `<text x="${LEFT + 36}" y="${legendAt(lines.length) + 4}">least possible without repeats let through</text>`,
  ];
  const height = legendAt(lines.length + (bound === null ? 0 : 1)) + 8;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" ` +
    `font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#fff"/>` +
    `${parts.join('')}</svg>\n`
  );
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
