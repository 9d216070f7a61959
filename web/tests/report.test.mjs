// The report of `simulate --html` in a real browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible, assertNotWiderThanWindow, outputPath, takeScreenshot } from './appearance-checks.mjs';
import { startBrowser } from './browser.mjs';
import { run } from './command-line.mjs';

const visit = startBrowser();
const MEMORIES = ['512', '2KiB', '8KiB'];
const FILTERS = JSON.parse(run(['filters', '--json']).toString()).filters.length;

/** Writes a report and opens it. @param {import('playwright-core').Page} page @param {string} name @param {string[]} options */
async function openReport(page, name, options) {
  const stream = ['--stream', 'shuffle:40', '--count', '20k'];
  run(['-q', 'simulate', ...stream, ...options, '--html', outputPath(`${name}.html`)]);
  await page.goto(`${new URL(page.url()).origin}/reports/${name}.html`);
  await page.locator('#by-memory svg').waitFor();
}

for (const [colorScheme, width] of /** @type {const} */ ([
  ['light', 1280],
  ['dark', 390],
])) {
  test(`all filters in three memories are readable: ${colorScheme}, ${width} pixels wide`, async () => {
    await visit(
      async ({ page }) => {
        const memories = MEMORIES.flatMap((memory) => ['--memory', memory]);
        await openReport(page, `report-${width}`, ['--filter', 'all', ...memories]);
        const checked = () => page.locator('#legend input:checked').count();
        const lines = () => page.locator('#by-memory .series').count();
        assert.equal(await page.locator('#results tr').count(), 1 + FILTERS * MEMORIES.length);
        assert.equal(await checked(), 5);
        assert.equal(await lines(), 5);
        assert.match(await page.locator('#answer').innerText(), /^Fewest errors: \w+:.* in 8 KiB\./);
        await page.getByRole('button', { name: 'All' }).click();
        assert.equal(await checked(), FILTERS);
        assert.equal(await lines(), FILTERS);
        assert.equal(await page.locator('#charts .series').count(), 3 * FILTERS);
        await page.getByRole('button', { name: 'None' }).click();
        assert.equal(await lines(), 0);
        await page.getByLabel('bloom:k=4,layout=shared').check();
        await page.getByLabel('Show').selectOption('fpr');
        await page.locator('#by-memory svg').press('End');
        const read = await page.locator('#by-memory output').innerText();
        const [expected] = JSON.parse(
          `[${run(['simulate', '--json', '--stream', 'shuffle:40', '--count', '20k', '--filter', 'bloom', '--memory', '8KiB'])}]`,
        );
        assert.equal(read, `8 KiB: bloom:k=4,layout=shared: ${Number((100 * expected.fpr).toPrecision(3))} %`);
        await assertAccessible(page);
        await assertNotWiderThanWindow(page);
        await page.getByRole('button', { name: 'The best 5' }).click();
        await takeScreenshot(page, `report-${colorScheme}-${width}`);
      },
      { colorScheme, width },
    );
  });
}

test('a filter has the same color in every report', async () => {
  await visit(async ({ page }) => {
    const colors = [];
    for (const filters of [['stable', 'bloom'], ['bloom', 'slot']]) {
      await openReport(page, 'report-colors', [...filters.flatMap((it) => ['--filter', it]), '--memory', '1KiB']);
      const item = page.locator('#legend li', { hasText: 'bloom:' });
      colors.push(await item.locator('.series').evaluate((path) => getComputedStyle(path).stroke));
    }
    assert.equal(colors[0], colors[1]);
  });
});
