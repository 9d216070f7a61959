// How much memory: on the log by trying, and without a log by formulas.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible, assertNotWiderThanWindow, takeScreenshot } from './appearance-checks.mjs';
import { startBrowser } from './browser.mjs';
import { generateSample, simulate } from './command-line.mjs';

/** @typedef {import('playwright-core').Page} Page */

const visit = startBrowser();

/** @param {Page} page */
async function open(page) {
  await page.getByText('How much memory do I need?').click();
  await page.locator('#calculator-rows tr').first().waitFor();
}

/** The cells of a calculated filter. @param {Page} page @param {string} name */
async function row(page, name) {
  const found = page.locator(`#calculator-rows tr[data-filter^="${name}:"]`);
  await found.waitFor();
  return (await found.locator('th, td').allTextContents()).map((text) => text.replaceAll('\u00a0', ' '));
}

test('two of keys, error rate and memory give the third', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await open(page);
    // 1,000,000 keys and 0.1 %: 14.38 bits per key and k = 10.
    const [filter, keys, memory, bits, fpr, fnr] = await row(page, 'bloom');
    assert.equal(filter, 'Bloom (k=10)');
    assert.deepEqual([keys, memory, bits, fnr], ['1,000,000', '1.71 MiB', '14.4', '0 %']);
    assert.match(fpr ?? '', /^0\.(1|099\d*) %$/);
    const answer = page.locator('#calculator-answer');
    await answer.filter({ hasText: /^1,000,000 keys with at most 0\.1\s% wrong answers: [\d.]+\sMiB is enough, with / }).waitFor();
    // The value that was typed first is calculated again.
    await page.getByLabel('Memory (m)').fill('1 MiB');
    assert.equal(await page.getByLabel('Distinct keys (n)').inputValue(), '');
    await answer.filter({ hasText: /^1\sMiB is enough for [\d,]+ keys/ }).waitFor();
    const held = Number((await row(page, 'bloom'))[1]?.replaceAll(',', ''));
    assert.ok(Math.abs(held / 583_000 - 1) < 0.01, `${held}`);
    await page.getByLabel('Distinct keys (n)').fill('1M');
    assert.equal(await page.getByLabel('Error rate (p)').inputValue(), '');
    await answer.filter({ hasText: /^1,000,000 keys in 1\sMiB: .* wrong answers with / }).waitFor();
    await page.getByLabel('Hash functions (k)').fill('3');
    await page.locator('#calculator-rows tr[data-filter^="bloom:k=3"]').waitFor();
    await page.getByLabel('Distinct keys (n)').fill('many');
    await answer.filter({ hasText: 'The number of keys must be a number' }).waitFor();
  });
});

test('every filter with a formula is listed, and the calculator is in the address', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await open(page);
    await page.getByLabel('Error rate (p)').fill('2 %');
    await page.waitForURL(/calculator_keys=1%2C000%2C000&calculator_error=2\+%25/);
    await page.waitForFunction(() => {
      const rows = document.querySelectorAll('#calculator-rows tr').length;
      const others = document.querySelector('#calculator-impossible')?.textContent?.split(',') ?? [];
      return rows + others.length >= 15;
    });
    const link = page.url();
    await page.goto('about:blank');
    await page.goto(link);
    await page.locator('#calculator-answer', { hasText: /at most 2\s% wrong/ }).waitFor();
    assert.equal(await page.getByLabel('Error rate (p)').inputValue(), '2 %');
  });
});

test('the memory for few errors on the log is found, and it is the least', async () => {
  const log = generateSample('Crawl');
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample();
    await open(page);
    await page.getByLabel('Lines with a wrong answer, at most').fill('0.1 %');
    await page.getByRole('button', { name: 'Find the memory' }).click();
    const rows = page.locator('#memory-rows tr');
    await page.locator('#memory-progress').waitFor({ state: 'hidden' });
    const found = await rows.evaluateAll((all) =>
      all.map((row) => ({
        filter: row.getAttribute('data-filter') ?? '',
        memoryBits: Number(row.getAttribute('data-memory-bits')),
      })),
    );
    const bloom = found.find(({ filter }) => filter.startsWith('bloom'));
    assert.ok(bloom !== undefined && bloom.memoryBits > 0, JSON.stringify(found));
    const wrong = (/** @type {number} */ memoryBits) => {
      const [it] = simulate(log, [bloom.filter], { memoryBits, seed: 1, key: [] });
      return ((it?.fp ?? 0) + (it?.fn ?? 0)) / (it?.count ?? 1);
    };
    assert.ok(wrong(bloom.memoryBits) <= 0.001, `${wrong(bloom.memoryBits)}`);
    assert.ok(wrong(8 * Math.floor((bloom.memoryBits * 0.94) / 8)) > 0.001);
    await page.locator('#memory-status', { hasText: /^For at most 0\.1\s% wrong lines of crawl\.log, .* needs [\d.]+\sKiB\./ }).waitFor();
    // The memory is taken over into the settings.
    await page.locator('#memory-rows').getByRole('button', { name: 'Use Bloom' }).click();
    await playground.finished();
    await page.waitForURL(new RegExp(`memory_bits=${bloom.memoryBits}`));
  });
});

for (const width of [1280, 390]) {
  test(`the calculator at ${width} pixels`, async () => {
    await visit(
      async (playground) => {
        const { page } = playground;
        await playground.loadSample();
        await open(page);
        await page.getByRole('button', { name: 'Find the memory' }).click();
        await page.locator('#memory-progress').waitFor({ state: 'hidden' });
        await assertAccessible(page);
        await assertNotWiderThanWindow(page);
        await takeScreenshot(page, `calculator-${width}`, '#calculator');
      },
      { width },
    );
  });
}
