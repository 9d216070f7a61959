// A large log runs to its end, nearly as fast as on the command line, in little memory, and
// the page answers all along. DEDUPSTORE_LARGE_MEGABYTES makes the log as large as wanted,
// and asks for speed too: so does `cargo xtask page-large`.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { stage } from './browser.mjs';
import { simulate } from './command-line.mjs';
import { MemoryWatch, nativeSeconds, noteWaits, notedWaits, writeLargeLog } from './large-log.mjs';

const visit = stage();
const MEGABYTES = Number(process.env.DEDUPSTORE_LARGE_MEGABYTES ?? 500);
/** Otherwise the command line at hand is that of the tests, which nobody should race. */
const IS_MEASUREMENT = process.env.DEDUPSTORE_LARGE_MEGABYTES !== undefined;
const FILTERS = ['bloom:k=4,layout=shared', 'blocked:k=6,cap=85', 'rlbsbf:k=2'];
const MEMORY_MIB = 2;
const LEAST_RATIO = 0.4;
const MOST_BYTES_BESIDE = 500e6;
const MOST_WAIT_MILLISECONDS = 100;
/** Between two inputs: some twelve a second, as from a hasty hand. */
const PAUSE_MILLISECONDS = 60;
const LIMIT_MILLISECONDS = 110_000;
/** @type {string} */
let folder;
/** @type {string} */
let log;
/** @type {number} */
let size;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dedupstore-page-'));
  log = join(folder, 'large.log');
  size = await writeLargeLog(log, MEGABYTES);
});

after(() => rm(folder, { recursive: true }));

/** What the table of the truth takes: eight bytes a slot. @param {number} distinct */
function truthBytes(distinct) {
  return 2 ** Math.ceil(Math.log2((distinct * 4) / 3)) * 8;
}

/**
 * A key pressed, and a click: during a run on what redraws every chart.
 *
 * @param {import('playwright-core').Page} page
 * @param {string} target
 */
async function giveInputs(page, target) {
  await page.keyboard.press('Shift');
  await page.waitForTimeout(PAUSE_MILLISECONDS);
  await page.locator(target).click();
  await page.waitForTimeout(PAUSE_MILLISECONDS);
}

/** @param {number[]} numbers @param {number} share */
function quantile(numbers, share) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

test(`a log of ${MEGABYTES} MB`, { timeout: LIMIT_MILLISECONDS }, async (t) => {
  const memoryBits = MEMORY_MIB << 23;
  await visit(async (playground) => {
    const { page } = playground;
    const settings = new URLSearchParams({ memory_bits: `${memoryBits}`, seed: '1' });
    FILTERS.forEach((filter) => settings.append('filter', filter));
    await page.goto(`${page.url()}#${settings}`);
    await page.reload();
    await playground.ready();
    await playground.choose(log);
    await playground.examined();
    await noteWaits(page);
    const watch = await MemoryWatch.of(page);
    const before = await watch.now();
    for (let times = 0; times < 8; times += 1) {
      await giveInputs(page, '#results-heading');
    }
    const idle = (await notedWaits(page)).map(({ milliseconds }) => milliseconds);
    const native = IS_MEASUREMENT ? [nativeSeconds(log, FILTERS, memoryBits)] : [];

    watch.start();
    const started = await page.evaluate(() => performance.now());
    await playground.start();
    const ended = page.evaluate(
      () =>
        new Promise((resolve) => {
          const progress = document.querySelector('#progress');
          const look = () => progress?.hasAttribute('hidden') && resolve(performance.now());
          new MutationObserver(look).observe(progress ?? document, { attributes: true });
          look();
        }),
    );
    let isOver = false;
    const over = ended.then((at) => {
      isOver = true;
      return Number(at);
    });
    let inputs = 0;
    while (!isOver) {
      await giveInputs(page, '#show-theory');
      inputs += 2;
    }
    const seconds = ((await over) - started) / 1000;
    watch.stop();
    if (IS_MEASUREMENT) {
      native.push(nativeSeconds(log, FILTERS, memoryBits));
    }

    const shown = await playground.outcomes();
    assert.deepEqual(shown, simulate(log, FILTERS, { memoryBits, seed: 1 }));
    const all = (await notedWaits(page)).map(({ milliseconds }) => milliseconds);
    // The first of them is the click on Run.
    const waits = all.slice(idle.length + 1);
    assert.ok(waits.length >= inputs, `${waits.length} of ${inputs} inputs answered`);
    const ratio = native.reduce((sum, it) => sum + it, 0) / native.length / seconds;
    const distinct = shown[0]?.distinct ?? 0;
    const beside = watch.peak - before - truthBytes(distinct) - (FILTERS.length * memoryBits) / 8;
    const [middle, high, most] = [0.5, 0.95, 1].map((share) => quantile(waits, share).toFixed(0));
    t.diagnostic(
      `${(size / 1e6).toFixed(0)} MB, ${shown[0]?.count} lines, ${distinct} distinct: ` +
        `page ${seconds.toFixed(2)} s, ` +
        (IS_MEASUREMENT
          ? `command line ${native.map((it) => it.toFixed(2)).join(' and ')} s, ratio ${ratio.toFixed(2)}; `
          : '') +
        `tab ${(before / 1e6).toFixed(0)} MB before, ` +
        `${(watch.peak / 1e6).toFixed(0)} MB at most, ${(beside / 1e6).toFixed(0)} MB beside filters and truth; ` +
        `${waits.length} inputs answered in ${middle} ms (median), ${high} ms (95 %), ${most} ms (most)`,
    );
    assert.ok(beside < MOST_BYTES_BESIDE, `${beside} bytes beside filters and truth`);
    if (IS_MEASUREMENT) {
      assert.ok(Math.max(...waits) <= MOST_WAIT_MILLISECONDS, `an input waited ${most} ms`);
      assert.ok(ratio >= LEAST_RATIO, `${ratio} of the command line's speed`);
    } else {
      // What the machine itself lets an idle page wait is not the run's doing.
      const limit = MOST_WAIT_MILLISECONDS + Math.max(...idle);
      assert.ok(quantile(waits, 0.9) <= limit, `inputs waited ${waits} ms, and ${idle} before`);
    }
  });
});
