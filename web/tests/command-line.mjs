// Runs the command line on the same log.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
export const program = process.env.DEDUPSTORE ?? join(root, 'target/debug/dedupstore');

/** The page's samples: their names, and the arguments of `generate`. */
export const SAMPLES = /** @type {const} */ ({
  Crawl: { name: 'crawl.log', generate: ['crawl:12:900', '--seed', '1'] },
  'Crawl with depths': {
    name: 'crawl.tsv',
    generate: ['crawl:12:900', '--seed', '1', '--with-importance'],
  },
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
/** The page's initial memory. */
export const INITIAL_MEMORY_BITS = 8 << 13;

/**
 * Generates a sample with the command line.
 *
 * @param {SampleName} sample
 */
export function generateSample(sample) {
  const counted = ['--count', `${SAMPLE_LINES}`];
  return run(['generate', ...SAMPLES[sample].generate, ...counted]);
}

/** Returns the output of the command line. @param {string[]} options @param {Buffer} [input] */
export function run(options, input) {
  return execFileSync(program, options, {
    cwd: root,
    timeout: 20_000,
    maxBuffer: 64 << 20,
    ...(input === undefined ? {} : { input }),
  });
}

/**
 * Runs a command; it may fail.
 *
 * @param {string[]} words
 * @param {{ cwd: string, input?: Buffer }} options
 */
export function dedupstore(words, options) {
  const { status, stdout, stderr } = spawnSync(program, words, {
    ...options,
    encoding: 'utf8',
    timeout: 20_000,
    maxBuffer: 64 << 20,
  });
  return { status, stdout, stderr };
}

/** The numbers that the page and the command line must agree on. */
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
 * @param {string | Buffer} log a file name, or the content
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
 * Returns the output of `explain` for a key after these keys.
 *
 * @param {string[]} keys
 * @param {string} key
 * @param {{ filter: string, memoryBits: number, seed: number }} setting
 * @returns {{ verdict: string, because: string, places: { index: number, value: number }[] }}
 */
export function explainKey(keys, key, { filter, memoryBits, seed }) {
  const directory = mkdtempSync(join(tmpdir(), 'dedupstore-page-'));
  try {
    const store = join(directory, 'keys.dds');
    const settings = ['--memory', `${memoryBits / 8}`, '--seed', `${seed}`, '--filter', filter];
    run(['create', store, ...settings]);
    run(['filter', store], Buffer.from(keys.map((key) => `${key}\n`).join('')));
    return JSON.parse(run(['explain', store, key, '--json']).toString());
  } finally {
    rmSync(directory, { recursive: true });
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
