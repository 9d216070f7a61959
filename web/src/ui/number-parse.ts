// Reads numbers as people type them: 1e6, 10M, 1,000,000; 0.1 %, 1e-3; 64 MiB, 2GB.

const COUNT_SUFFIXES: Record<string, number> = { '': 1, k: 1e3, m: 1e6, g: 1e9, b: 1e9, t: 1e12 };
const SIZE_SUFFIXES: Record<string, number> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
};
const NUMBER = /^([\d.]+(?:e[+-]?\d+)?)\s*([a-z%]*)$/;

/** Returns a number of things; null if the text is none. */
export function parseCount(text: string): number | null {
  return parse(text, COUNT_SUFFIXES);
}

/** Returns a number of bytes; null if the text is none. */
export function parseBytes(text: string): number | null {
  return parse(text, SIZE_SUFFIXES);
}

/** Returns a share from 0 to 1; null if the text is none. */
export function parseShare(text: string): number | null {
  const share = parse(text, { '': 1, '%': 0.01 });
  return share !== null && share < 1 ? share : null;
}

/** Only numbers above 0. */
function parse(text: string, suffixes: Record<string, number>): number | null {
  const [, digits = '', suffix = ''] = NUMBER.exec(text.replaceAll(',', '').trim().toLowerCase()) ?? [];
  const value = Number(digits) * (suffixes[suffix] ?? Number.NaN);
  return digits !== '' && Number.isFinite(value) && value > 0 ? value : null;
}
