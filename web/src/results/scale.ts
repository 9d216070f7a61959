// The vertical scale of a chart of rates. A square root separates lines that a single large one
// would press together at the bottom; unlike a logarithm it has a place for 0.

export type Scale = 'linear' | 'root';

/** The lowest top of the axis, for rates that are all 0. */
const MIN_TOP = 0.0001;
/** Ticks on a square-root scale are at least this share of the height apart. */
const MIN_TICK_DISTANCE = 0.14;
/** If the second largest line is lower than this share of the largest, lines crowd. */
const CROWDED_BELOW = 0.25;

export function topOf(rates: number[]): number {
  return Math.max(...rates.filter((rate) => !Number.isNaN(rate)), MIN_TOP) * 1.05;
}

/** A square root if one line is much higher than the others. */
export function fittingScale(lines: Float64Array[]): Scale {
  const tops = lines.map((rates) => topOf([...rates])).sort((a, b) => b - a);
  const [first = 0, second = first] = tops;
  const last = tops.at(-1) ?? first;
  return second < first * CROWDED_BELOW || last < first * CROWDED_BELOW * CROWDED_BELOW
    ? 'root'
    : 'linear';
}

/** The height of a rate as a share of the height of the top. */
export function heightOf(rate: number, top: number, scale: Scale): number {
  const share = rate / top;
  return scale === 'root' ? Math.sqrt(share) : share;
}

/** Round values from 0 to the top. */
export function ticksUpTo(top: number, scale: Scale): number[] {
  if (scale === 'linear') {
    const step = roundStep(top / 5);
    return Array.from({ length: Math.floor(top / step) + 1 }, (_, index) => index * step);
  }
  const ticks: number[] = [];
  let lowest = Infinity;
  for (let power = Math.floor(Math.log10(top)); power > -7; power -= 1) {
    for (const digit of [5, 2, 1]) {
      const value = digit * 10 ** power;
      const height = heightOf(value, top, scale);
      if (value <= top && lowest - height >= MIN_TICK_DISTANCE && height >= MIN_TICK_DISTANCE) {
        ticks.push(value);
        lowest = height;
      }
    }
  }
  return [0, ...ticks.reverse()];
}

/** The smallest of 1, 2, 5 times a power of ten that is at least a value. */
function roundStep(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((digit) => digit * power >= value) ?? 10) * power;
}
