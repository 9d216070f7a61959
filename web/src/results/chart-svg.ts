// Writes a chart as a self-contained SVG file on white, for papers and slides.

import { formatShareTick, formatShortCount } from '../ui/number-format.js';
import { lineStyle } from '../ui/palette.js';
import type { ChartData } from './rate-chart.js';

const WIDTH = 720;
const HEIGHT = 360;
const LEFT = 64;
const TOP = 40;
const LEGEND_LINE = 18;
const TICKS = 5;

export function chartSvg(name: string, { position, lines, bound, sample }: ChartData): string {
  const end = Math.max(...position, 1);
  const rates = [...lines.flatMap(({ rates, predicted }) => [...rates, ...predicted]), ...(bound ?? [])];
  const top = Math.max(...rates.filter((rate) => !Number.isNaN(rate)), 0.01) * 1.05;
  const x = (value: number) => LEFT + (value / end) * (WIDTH - LEFT - 24);
  const y = (value: number) => TOP + (1 - value / top) * (HEIGHT - TOP - 40);
  const path = (rates: Float64Array) =>
    [...rates]
      .flatMap((rate, index) => {
        const at = position[index];
        return Number.isNaN(rate) || at === undefined ? [] : [`${round(x(at))} ${round(y(rate))}`];
      })
      .map((point, index) => (index === 0 ? 'M' : 'L') + point)
      .join('');
  const ticks = Array.from({ length: TICKS }, (_, index) => index / (TICKS - 1));
  const parts = [
    `<text x="${LEFT}" y="20" font-size="15">${escape(sample === '' ? name : `${name} (sample: ${sample})`)}</text>`,
    ...ticks.map(
      (share) =>
        `<path d="M${LEFT} ${round(y(share * top))}H${WIDTH - 24}" stroke="#ddd"/>` +
        `<text x="${LEFT - 8}" y="${round(y(share * top)) + 4}" text-anchor="end">` +
        `${formatShareTick(share * top)}</text>` +
        `<text x="${round(x(share * end))}" y="${HEIGHT - 20}" text-anchor="middle">` +
        `${formatShortCount(Math.round(share * end))}</text>`,
    ),
    ...lines.flatMap(({ filter, rates, predicted }, index) => {
      const { colour, dash } = lineStyle(index);
      const legend = HEIGHT + index * LEGEND_LINE;
      const stroke = `fill="none" stroke="${colour}" stroke-dasharray="${dash.join(' ')}"`;
      return [
        `<path d="${path(predicted)}" fill="none" stroke="${colour}" stroke-width="0.75"/>`,
        `<path d="${path(rates)}" ${stroke} stroke-width="1.75"/>`,
        `<path d="M${LEFT} ${legend}h28" ${stroke} stroke-width="2"/>`,
        `<text x="${LEFT + 36}" y="${legend + 4}">${escape(filter)}</text>`,
      ];
    }),
    bound === null
      ? ''
      : `<path d="${path(bound)}" fill="none" stroke="#666" stroke-width="2" stroke-dasharray="1 4"/>`,
  ];
  const height = HEIGHT + lines.length * LEGEND_LINE;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" ` +
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
