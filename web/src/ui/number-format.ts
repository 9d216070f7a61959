// Formats numbers in the same way as the command line.

const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
const UP_TO_THREE_DIGITS = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const THREE_DIGITS = new Intl.NumberFormat('en', {
  minimumSignificantDigits: 3,
  maximumSignificantDigits: 3,
});

/** Shown in place of a missing number. */
export const MISSING = '–';
const NO_BREAK_SPACE = '\u00a0';

export const BYTE_UNITS = [
  { name: 'B', bytes: 1 },
  { name: 'KiB', bytes: 2 ** 10 },
  { name: 'MiB', bytes: 2 ** 20 },
  { name: 'GiB', bytes: 2 ** 30 },
] as const;

export type ByteUnit = (typeof BYTE_UNITS)[number];

/** The largest unit that is not larger than a size. */
export function fittingUnit(bytes: number): ByteUnit {
  return BYTE_UNITS.findLast((unit) => unit.bytes <= bytes) ?? BYTE_UNITS[0];
}

export function formatBytes(bytes: number): string {
  const unit = fittingUnit(bytes);
  return UP_TO_THREE_DIGITS.format(bytes / unit.bytes) + NO_BREAK_SPACE + unit.name;
}

export function formatCount(count: number): string {
  return WHOLE.format(count);
}

/** A count with its noun: "1 line", "2 lines". */
export function formatCounted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** A count for an axis, where there is little space. */
export function formatShortCount(count: number): string {
  return count < 1e5 ? WHOLE.format(count) : SHORT.format(count);
}

/** Smaller numbers are shown as "less than this". */
const SMALLEST_SHOWN = 0.000001;

/** A share in percent, with three digits. NaN counts as missing. */
export function formatShare(share: number | null): string {
  if (share === null || Number.isNaN(share)) {
    return MISSING;
  }
  if (share > 0 && share < SMALLEST_SHOWN) {
    return `<${NO_BREAK_SPACE}${UP_TO_THREE_DIGITS.format(SMALLEST_SHOWN * 100)}${NO_BREAK_SPACE}%`;
  }
  const digits = share === 0 || share === 1 ? WHOLE : THREE_DIGITS;
  return digits.format(share * 100) + NO_BREAK_SPACE + '%';
}

/** A share on an axis, without trailing zeros. */
export function formatShareTick(share: number): string {
  return UP_TO_THREE_DIGITS.format(share * 100) + NO_BREAK_SPACE + '%';
}

export function formatNanoseconds(nanoseconds: number | null): string {
  return nanoseconds === null
    ? MISSING
    : UP_TO_THREE_DIGITS.format(nanoseconds) + NO_BREAK_SPACE + 'ns';
}

/** A number with up to three digits. */
export function formatDigits(value: number): string {
  return value > 0 && value < SMALLEST_SHOWN
    ? `<${NO_BREAK_SPACE}${SMALLEST_SHOWN}`
    : UP_TO_THREE_DIGITS.format(value);
}

/** A size as the command line accepts it, exact to the byte. */
export function formatBytesExactly(bytes: number): string {
  const unit = BYTE_UNITS.findLast((unit) => unit.bytes <= bytes && bytes % unit.bytes === 0);
  return unit === undefined || unit.bytes === 1 ? String(bytes) : bytes / unit.bytes + unit.name;
}
