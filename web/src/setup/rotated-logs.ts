// The order of several files. Rotation gives the oldest lines the highest number, or a date.

import type { LogFile, LogFiles } from '../engine/settings.js';
import { formatCount } from '../ui/number-format.js';

/** `access.log.12.gz`: the name, the number of the rotation, the compression. */
const NUMBERED = /^(.*?)\.(\d{1,4})(\.gz)?$/;

/**
 * Sorts files from the oldest to the newest: `access.log.2.gz`, `access.log.1`, `access.log`.
 * Names with dates sort by themselves. The file without a number is the newest one.
 */
export function rotationOrder(files: readonly LogFile[]): LogFiles {
  const places = new Map(files.map((file) => [file, placeOf(file.name)]));
  const bases = new Set([...places.values()].map(({ base }) => base));
  // A file that others were rotated from comes last: `access.log` after `access.log-20260301`.
  const isCurrent = (base: string) =>
    [...bases].some((other) => other !== base && other.startsWith(base));
  return [...files].sort((a, b) => {
    const [one, two] = [places.get(a), places.get(b)];
    if (one === undefined || two === undefined) {
      return 0;
    }
    return one.base === two.base
      ? two.number - one.number
      : Number(isCurrent(one.base)) - Number(isCurrent(two.base)) ||
          one.base.localeCompare(two.base, 'en', { numeric: true });
  });
}

/** The name of a log in messages. */
export function logNameOf(files: LogFiles): string {
  const [first] = files;
  return files.length === 1 && first !== undefined ? first.name : `${formatCount(files.length)} files`;
}

function placeOf(name: string): { base: string; number: number } {
  const [, base, number] = NUMBERED.exec(name) ?? [];
  return base === undefined || number === undefined
    ? { base: name.replace(/\.gz$/, ''), number: 0 }
    : { base, number: Number(number) };
}
