// What the command line says of the same log.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
export const program = process.env.DEDUPSTORE ?? join(root, 'target/debug/dedupstore');

/** The page's own logs: what they are called there, and what `generate` is told. */
export const SAMPLES = /** @type {const} */ ({
  Crawl: { name: 'crawl.log', generate: ['crawl:12:900', '--seed', '1'] },
  'Access log': {
    name: 'access.log',
    generate: ['crawl:1:9000', '--seed', '2', '--as', 'access-log'],
  },
  'Click stream': {
    name: 'clicks.jsonl',
    generate: ['drift:35:4000', '--seed', '3', '--as', 'clicks'],
  },
});
/** @typedef {keyof typeof SAMPLES} SampleName */
export const SAMPLE_LINES = 50_000;
/** The page's memory before anyone has set it. */
export const INITIAL_MEMORY_BITS = 8 << 13;

/**
 * A sample as the command line makes it.
 *
 * @param {SampleName} sample
 */
export function generated(sample) {
  const counted = ['--count', `${SAMPLE_LINES}`];
  return run(['generate', ...SAMPLES[sample].generate, ...counted]);
}

/** What the command line prints. @param {string[]} options @param {Buffer} [input] */
export function run(options, input) {
  return execFileSync(program, options, {
    cwd: root,
    timeout: 20_000,
    maxBuffer: 64 << 20,
    ...(input === undefined ? {} : { input }),
  });
}

/**
 * Any command, to its end, however it ends.
 *
 * @param {string[]} options
 * @param {{ cwd: string, input?: Buffer }} place
 */
export function dedupstore(options, place) {
  const { status, stdout, stderr } = spawnSync(program, options, {
    ...place,
    encoding: 'utf8',
    timeout: 20_000,
    maxBuffer: 64 << 20,
  });
  return { status, stdout, stderr };
}

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
  'predicted_fpr',
  'predicted_fnr',
]);

/** @typedef {{ filter: string } & Record<(typeof COMPARED)[number], number | null>} Outcome */

/**
 * @param {string | Buffer} log a file's name, or what it holds
 * @param {string[]} filters
 * @param {{ memoryBits: number, seed: number, key?: string[] }} run
 * @returns {Outcome[]}
 */
export function simulate(log, filters, { memoryBits, seed, key = [] }) {
  const settings = ['--memory-bits', `${memoryBits}`, '--seed', `${seed}`];
  const chosen = filters.flatMap((filter) => ['--filter', filter]);
  const options = ['simulate', '--json', ...settings, ...key, ...chosen];
  const output = typeof log === 'string' ? run([...options, log]) : run(options, log);
  return output
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => {
      const printed = JSON.parse(line);
      const compared = COMPARED.map((key) => [key, printed[key]]);
      return { filter: printed.filter, ...Object.fromEntries(compared) };
    });
}

/**
 * What `explain` says of a key after these.
 *
 * @param {string[]} keys
 * @param {string} key
 * @param {{ filter: string, memoryBits: number, seed: number }} setting
 * @returns {{ verdict: string, because: string, places: { index: number, value: number }[] }}
 */
export function explainKey(keys, key, { filter, memoryBits, seed }) {
  const place = mkdtempSync(join(tmpdir(), 'dedupstore-page-'));
  try {
    const store = join(place, 'keys.dds');
    const settings = ['--memory', `${memoryBits / 8}`, '--seed', `${seed}`, '--filter', filter];
    run(['create', store, ...settings]);
    run(['filter', store], Buffer.from(keys.map((key) => `${key}\n`).join('')));
    return JSON.parse(run(['explain', store, key, '--json']).toString());
  } finally {
    rmSync(place, { recursive: true });
  }
}

/**
 * @param {Buffer} log
 * @param {string[]} options
 * @returns {{ filter: string, fpr: number, fnr: number, reason: string, keeps_bounds: boolean,
 *   choice: Estimate, runners_up: Estimate[] }}
 */
export function advise(log, options) {
  return JSON.parse(run(['advise', '-', '--json', ...options], log).toString());
}

/** @typedef {{ filter: string, fpr: number, fnr: number, cost: number }} Estimate */
