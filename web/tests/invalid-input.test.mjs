// Invalid settings are reported, and the page works afterwards.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { SAMPLE_LINES } from './command-line.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = startBrowser();

/**
 * @param {Playground} playground
 * @param {RegExp} expected
 */
async function assertError(playground, expected) {
  await playground.start();
  await playground.message.filter({ hasText: expected }).waitFor();
}

/**
 * @param {Playground} playground
 * @param {RegExp} expected
 */
async function assertRefused(playground, expected) {
  await assertError(playground, expected);
  await playground.assertOutdated();
}

/** @param {Playground} playground */
async function assertWorks(playground) {
  await playground.run();
  assert.ok(await playground.message.isHidden());
  assert.equal((await playground.outcomes())[0]?.count, SAMPLE_LINES);
}

test('a link without a log, an empty log, and a log that was deleted', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'dedupstore-page-'));
  const log = join(directory, 'gone.log');
  await writeFile(log, 'a\nb\n');
  await visit(async (playground) => {
    await playground.page.goto(`${playground.page.url().split('#')[0]}?again#seed=1`);
    await playground.filtersListed();
    await playground.page.getByText('settings without a log').waitFor();
    await assertError(playground, /no log/);
    await playground.loadSample();

    const buffer = Buffer.alloc(0);
    await playground.choose({ name: 'empty.log', mimeType: 'text/plain', buffer });
    await assertRefused(playground, /empty\.log is empty/);
    await playground.loadSample();
    await assertWorks(playground);

    await playground.choose(log);
    await rm(directory, { recursive: true });
    await assertRefused(playground, /gone\.log could not be read/);
    await playground.loadSample();
    await assertWorks(playground);
  });
});

test('too little memory, too much memory, and none', async () => {
  await visit(async (playground) => {
    await playground.loadSample();
    await playground.setMemory(1, 'B');
    await assertRefused(playground, /needs at least \d+ B of memory; 1 B is too little/);
    await playground.setMemory(4000, 'GiB');
    await assertRefused(playground, /at most [\d.]+ GiB in a browser; the command line can use more/);
    await playground.page.getByLabel('Memory of each filter', { exact: true }).fill('');
    await assertRefused(playground, /memory must be a number/);
    await playground.setMemory(1, 'KiB');
    await assertWorks(playground);
  });
});

test('a parameter out of range, an invalid seed, and no filter', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample();
    const card = page.locator('.filter-card').first();
    await card.locator('summary').first().click();
    const k = card.getByLabel('k', { exact: true });
    await k.fill('99');
    await assertRefused(playground, /k must be a whole number from 1 to 32; found 99/);
    await k.fill('');
    await assertRefused(playground, /k must be a whole number/);
    await k.fill('3');
    await assertWorks(playground);

    await playground.setSeed(-1);
    await assertError(playground, /seed must be a whole number/);
    await playground.setSeed(4_294_967_296);
    await assertError(playground, /seed must be a whole number/);
    await playground.setSeed(0);
    await assertWorks(playground);

    const remove = page.getByRole('button', { name: /^Remove/ });
    for (let left = await remove.count(); left > 0; left -= 1) {
      await remove.first().click();
    }
    await assertError(playground, /no filter to run/);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await assertWorks(playground);
  });
});
