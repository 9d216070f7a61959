// A run can be paused, stepped and slowed down, and shows predictions beside measurements.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from './appearance-checks.mjs';
import { startBrowser } from './browser.mjs';
import { INITIAL_MEMORY_BITS, SAMPLE_LINES, generateSample, simulate } from './command-line.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = startBrowser();

/** @param {Playground} playground */
async function shownCount(playground) {
  return (await playground.outcomes())[0]?.count ?? 0;
}

/** @param {Playground} playground */
async function startAndPause(playground) {
  const { page } = playground;
  await playground.loadSample();
  await playground.setSpeed(2000);
  await playground.start();
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await playground.status.filter({ hasText: /^Paused after/ }).waitFor();
}

test('a paused run can be stepped and resumed, with the same results', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await startAndPause(playground);
    const paused = await shownCount(playground);
    assert.ok(paused > 0 && paused < SAMPLE_LINES, `${paused} lines`);
    await page.waitForTimeout(300);
    assert.equal(await shownCount(playground), paused);
    await assertAccessible(page);

    await page.getByRole('button', { name: 'Step' }).click();
    await page.waitForFunction((paused) => {
      const cell = document.querySelector('#outcomes [data-column="count"]');
      return Number(cell?.getAttribute('data-value')) >= paused + 500;
    }, paused);
    const stepped = await shownCount(playground);
    assert.ok(stepped < paused + 600, `from ${paused} to ${stepped}`);

    await page.getByLabel('Speed').selectOption('0');
    await page.getByRole('button', { name: 'Resume' }).click();
    await playground.finished();
    const shown = await playground.outcomes();
    const log = generateSample('Crawl');
    const settings = { memoryBits: INITIAL_MEMORY_BITS, seed: 1 };
    const filters = shown.map(({ filter }) => filter);
    assert.deepEqual(shown, simulate(log, filters, settings));
  });
});

test('a paused run can be cancelled, and a new run started', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await startAndPause(playground);
    await page.getByRole('button', { name: 'Cancel' }).click();
    assert.match(await playground.status.innerText(), /^Cancelled after/);
    await playground.setSpeed(0);
    await playground.run();
    assert.equal(await shownCount(playground), SAMPLE_LINES);
  });
});

test('every formula has a name, and the bits per key are shown', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample();
    await playground.addAllFilters();
    await playground.run();
    const formulas = await page.locator('#formulas dd').allTextContents();
    assert.equal(formulas.length, await page.locator('#outcomes tbody tr').count());
    assert.ok(formulas.every((text) => text.length > 30 || text === 'There is no formula.'), formulas.join('\n'));
    // Streams change, and filters are small: no formula is exact without a condition.
    assert.ok(formulas.some((text) => text.includes('It is exact for a stream that does not change')));
    assert.ok(formulas.every((text) => !text.includes('It is exact.')), formulas.join('\n'));
    const [row] = await playground.outcomes();
    const bits = INITIAL_MEMORY_BITS / (row?.distinct ?? 0);
    const hint = await page.locator('#memory-hint').innerText();
    assert.ok(hint.includes(`About ${bits.toFixed(1)} bits per distinct key`), hint);
  });
});
