// Numbers for people, in the forms that the command line prints.

const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
const UP_TO_THREE_DIGITS = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const THREE_DIGITS = new Intl.NumberFormat('en', {
  minimumSignificantDigits: 3,
  maximumSignificantDigits: 3,
});

/** Stands where there is no number. */
export const NOTHING = '–';
const NO_BREAK_SPACE = '\u00a0';

export const BYTE_UNITS = [
  { name: 'B', bytes: 1 },
  { name: 'KiB', bytes: 2 ** 10 },
  { name: 'MiB', bytes: 2 ** 20 },
  { name: 'GiB', bytes: 2 ** 30 },
] as const;

export type ByteUnit = (typeof BYTE_UNITS)[number];

/** The largest unit that is no larger than a size. */
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

/** For axes, where there is little room. */
export function formatShortCount(count: number): string {
  return count < 1e5 ? WHOLE.format(count) : SHORT.format(count);
}

/** Below this a row of zeros says no more than that it is less. */
const LEAST_SHOWN = 0.000001;

/** A share with as many digits as mean something. */
export function formatShare(share: number | null): string {
  if (share === null) {
    return NOTHING;
  }
  if (share > 0 && share < LEAST_SHOWN) {
    return `<${NO_BREAK_SPACE}${UP_TO_THREE_DIGITS.format(LEAST_SHOWN * 100)}${NO_BREAK_SPACE}%`;
  }
  const digits = share === 0 || share === 1 ? WHOLE : THREE_DIGITS;
  return digits.format(share * 100) + NO_BREAK_SPACE + '%';
}

/** A share on an axis: round values, no needless zeros. */
export function formatShareTick(share: number): string {
  return UP_TO_THREE_DIGITS.format(share * 100) + NO_BREAK_SPACE + '%';
}

export function formatNanoseconds(nanoseconds: number | null): string {
  return nanoseconds === null
    ? NOTHING
    : UP_TO_THREE_DIGITS.format(nanoseconds) + NO_BREAK_SPACE + 'ns';
}

/** A number with as many digits as a person reads. */
export function formatDigits(value: number): string {
  return value > 0 && value < LEAST_SHOWN ? `<${NO_BREAK_SPACE}${LEAST_SHOWN}` : UP_TO_THREE_DIGITS.format(value);
}

/** A size as the command line takes it, to the byte. */
export function formatBytesExactly(bytes: number): string {
  const unit = BYTE_UNITS.findLast((unit) => unit.bytes <= bytes && bytes % unit.bytes === 0);
  return unit === undefined || unit.bytes === 1 ? String(bytes) : bytes / unit.bytes + unit.name;
}
