// A large log: the run is nearly as fast as the command line, uses little memory, and the
// page responds to input meanwhile. DEDUPSTORE_LARGE_MEGABYTES sets the size of the log and
// turns on the check of the speed, as `cargo xtask page-large` does.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { simulate } from './command-line.mjs';
import { MemoryWatch, nativeSeconds, recordWaits, recordedWaits, writeLargeLog } from './large-log.mjs';

const visit = startBrowser();
const MEGABYTES = Number(process.env.DEDUPSTORE_LARGE_MEGABYTES ?? 500);
/** Without it the command line is a debug build, which is no measure of speed. */
const IS_MEASUREMENT = process.env.DEDUPSTORE_LARGE_MEGABYTES !== undefined;
const FILTERS = ['bloom:k=4,layout=shared', 'blocked:k=6,cap=85', 'rlbsbf:k=2'];
const MEMORY_MIB = 2;
const MIN_RATIO = 0.4;
const MAX_OTHER_BYTES = 500e6;
const MAX_WAIT_MILLISECONDS = 100;
/** The pause between two inputs: about twelve inputs per second. */
const PAUSE_MILLISECONDS = 60;
const TIMEOUT_MILLISECONDS = 110_000;
/** @type {string} */
let directory;
/** @type {string} */
let log;
/** @type {number} */
let size;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'dedupstore-page-'));
  log = join(directory, 'large.log');
  size = await writeLargeLog(log, MEGABYTES);
});

after(() => rm(directory, { recursive: true }));

/** The size of the exact table of keys: eight bytes per slot. @param {number} distinct */
function truthBytes(distinct) {
  return 2 ** Math.ceil(Math.log2((distinct * 4) / 3)) * 8;
}

/**
 * Presses a key and clicks. During a run the click redraws every chart.
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

test(`a log of ${MEGABYTES} MB`, { timeout: TIMEOUT_MILLISECONDS }, async (t) => {
  const memoryBits = MEMORY_MIB << 23;
  await visit(async (playground) => {
    const { page } = playground;
    const settings = new URLSearchParams({ memory_bits: `${memoryBits}`, seed: '1' });
    FILTERS.forEach((filter) => settings.append('filter', filter));
    await page.goto(`${page.url()}#${settings}`);
    await page.reload();
    await playground.filtersListed();
    await playground.choose(log);
    await playground.finished();
    await recordWaits(page);
    const watch = await MemoryWatch.of(page);
    const before = await watch.now();
    for (let times = 0; times < 8; times += 1) {
      await giveInputs(page, '#results-heading');
    }
    const idle = (await recordedWaits(page)).map(({ milliseconds }) => milliseconds);
    const native = IS_MEASUREMENT ? [nativeSeconds(log, FILTERS, memoryBits)] : [];

    watch.start();
    const started = await page.evaluate(() => performance.now());
    await playground.start();
    const ended = page.evaluate(
      () =>
        new Promise((resolve) => {
          const answer = document.querySelector('#answer');
          const look = () => answer?.getAttribute('data-state') === 'done' && resolve(performance.now());
          new MutationObserver(look).observe(answer ?? document, { attributes: true });
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
    const all = (await recordedWaits(page)).map(({ milliseconds }) => milliseconds);
    // The first one is the click on Run.
    const waits = all.slice(idle.length + 1);
    assert.ok(waits.length >= inputs, `${waits.length} of ${inputs} inputs handled`);
    const ratio = native.reduce((sum, it) => sum + it, 0) / native.length / seconds;
    const distinct = shown[0]?.distinct ?? 0;
    const other = watch.peak - before - truthBytes(distinct) - (FILTERS.length * memoryBits) / 8;
    const [middle, high, most] = [0.5, 0.95, 1].map((share) => quantile(waits, share).toFixed(0));
    t.diagnostic(
      `${(size / 1e6).toFixed(0)} MB, ${shown[0]?.count} lines, ${distinct} distinct: ` +
        `page ${seconds.toFixed(2)} s, ` +
        (IS_MEASUREMENT
          ? `command line ${native.map((it) => it.toFixed(2)).join(' and ')} s, ratio ${ratio.toFixed(2)}; `
          : '') +
        `tab ${(before / 1e6).toFixed(0)} MB before, ` +
        `${(watch.peak / 1e6).toFixed(0)} MB at most, ${(other / 1e6).toFixed(0)} MB besides filters and exact keys; ` +
        `${waits.length} inputs handled in ${middle} ms (median), ${high} ms (95 %), ${most} ms (most)`,
    );
    assert.ok(other < MAX_OTHER_BYTES, `${other} bytes besides filters and exact keys`);
    if (IS_MEASUREMENT) {
      assert.ok(Math.max(...waits) <= MAX_WAIT_MILLISECONDS, `an input waited ${most} ms`);
      assert.ok(ratio >= MIN_RATIO, `${ratio} of the command line's speed`);
    } else {
      // An idle page waits too on a busy machine.
      const limit = MAX_WAIT_MILLISECONDS + Math.max(...idle);
      assert.ok(quantile(waits, 0.9) <= limit, `inputs waited ${waits} ms, and ${idle} before`);
    }
  });
});
