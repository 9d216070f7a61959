// A run can be cancelled in the middle of a large log, and the next run works.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { INITIAL_MEMORY_BITS, SAMPLE_LINES, generateSample, simulate } from './command-line.mjs';

const visit = startBrowser();
const LINES_PER_BLOCK = 100_000;
const BLOCKS = 75;
/** @type {string} */
let folder;
/** @type {string} */
let largeLog;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dedupstore-page-'));
  largeLog = join(folder, 'large.log');
  const lines = Array.from({ length: LINES_PER_BLOCK }, (_, i) => `${1_000_000 + i}\n`);
  const block = Buffer.from(lines.join(''));
  await writeFile(largeLog, Array(BLOCKS).fill(block));
});

after(() => rm(folder, { recursive: true }));

/** @param {import('./playground.mjs').Playground} playground */
async function startAndWaitForMiddle(playground) {
  await playground.choose(largeLog);
  await playground.start();
  await playground.page.waitForFunction(() => {
    const bar = document.querySelector('#progress-bar');
    return bar instanceof HTMLProgressElement && bar.value > 0.05;
  });
}

test('curves, counts and progress are shown while the log is read', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await startAndWaitForMiddle(playground);
    assert.match(await page.locator('#progress-text').innerText(), /^[\d.]+\sMiB of 57.2\sMiB, \d+\s%$/);
    const [early] = await playground.outcomes();
    assert.equal(await page.locator('.chart canvas').count(), 4);
    await page.waitForFunction((early) => {
      const cell = document.querySelector('#outcomes [data-column="count"]');
      return Number(cell?.getAttribute('data-value')) > early;
    }, early?.count ?? 0);
    await playground.finished();
    assert.equal((await playground.outcomes())[0]?.count, BLOCKS * LINES_PER_BLOCK);
  });
});

test('cancelling keeps the results so far, and the next run starts from nothing', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await startAndWaitForMiddle(playground);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await playground.finished();
    assert.match(await playground.status.innerText(), /^Cancelled after [\d.]+\s% of large.log/);
    const focused = page.getByRole('button', { name: 'Run', exact: true });
    assert.ok(await focused.evaluate((button) => button === document.activeElement));

    const kept = await playground.outcomes();
    const count = kept[0]?.count ?? 0;
    assert.ok(count > 0 && count < BLOCKS * LINES_PER_BLOCK, `${count} lines`);
    await page.waitForTimeout(300);
    assert.deepEqual(await playground.outcomes(), kept);

    await playground.loadSample();
    await playground.run();
    const shown = await playground.outcomes();
    const settings = { memoryBits: INITIAL_MEMORY_BITS, seed: 1 };
    const filters = shown.map(({ filter }) => filter);
    const printed = simulate(generateSample('Crawl'), filters, settings);
    assert.deepEqual(shown, printed);
  });
});

test('a new run during a run replaces it', async () => {
  await visit(async (playground) => {
    await startAndWaitForMiddle(playground);
    await playground.loadSample();
    await playground.run();
    assert.equal((await playground.outcomes())[0]?.count, SAMPLE_LINES);
    assert.match(await playground.status.innerText(), /^crawl.log: 50,000 lines/);
  });
});
