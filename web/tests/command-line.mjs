// What the command line says of the same log.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = process.env.DEDUPSTORE ?? join(root, 'target/release/dedupstore');

export const SAMPLE = 'fixtures/crawl.log';

/** The numbers that must not depend on where the engine runs. */
export const COMPARED = /** @type {const} */ ([
  'memory_bits',
  'count',
  'distinct',
  'repeats',
  'fp',
  'fn',
  'fpr',
  'fnr',
  'load',
]);

/** @typedef {{ filter: string } & Record<(typeof COMPARED)[number], number | null>} Outcome */

/**
 * @param {string} file
 * @param {{ filter: string, memoryBits: number, seed: number }} run
 * @returns {Outcome}
 */
export function simulate(file, { filter, memoryBits, seed }) {
  const settings = ['--filter', filter, '--memory-bits', `${memoryBits}`, '--seed', `${seed}`];
  const output = execFileSync(program, ['simulate', '--json', ...settings, file], {
    cwd: root,
    encoding: 'utf8',
    timeout: 20_000,
  });
  const printed = JSON.parse(output);
  const compared = COMPARED.map((key) => [key, printed[key]]);
  return { filter: printed.filter, ...Object.fromEntries(compared) };
}
