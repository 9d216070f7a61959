// The page of `reproduce --html` in a real browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible, assertNotWiderThanWindow, outputPath, takeScreenshot } from './appearance-checks.mjs';
import { startBrowser } from './browser.mjs';
import { run } from './command-line.mjs';

const visit = startBrowser();

for (const [colorScheme, width] of /** @type {const} */ ([
  ['light', 1280],
  ['dark', 390],
])) {
  test(`a paper with its tables is readable: ${colorScheme}, ${width} pixels wide`, async () => {
    await visit(
      async ({ page }) => {
        const name = `papers-${width}.html`;
        const printed = run(['-q', 'reproduce', '003', '2', '--scale', '10000', '--json', '--html', outputPath(name)]);
        const cells = printed.toString().trim().split('\n').length;
        await page.goto(`${new URL(page.url()).origin}/reports/${name}`);
        const table = page.locator('details', { hasText: 'Table 2' });
        assert.equal(await table.locator('td.same, td.near, td.far, td.unknown').count(), cells);
        assert.ok((await table.locator('td.far').count()) > 5, 'the artefact is visible');
        assert.ok((await page.locator('.statements .wrong').count()) >= 3);
        assert.ok((await page.locator('.dots circle').count()) > 30);
        await assertAccessible(page);
        await assertNotWiderThanWindow(page);
        await takeScreenshot(page, `papers-${colorScheme}-${width}`);
      },
      { colorScheme, width },
    );
  });
}
