// The page in both colour schemes, on a desktop and on a phone: accessible, and never wider
// than the window. Writes screenshots to test-output.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { assertAccessible, assertNotWiderThanWindow, takeScreenshot } from './appearance-checks.mjs';

const visit = startBrowser();

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  for (const width of [1280, 390]) {
    test(`${colorScheme}, ${width} pixels wide`, async () => {
      await visit(
        async (playground) => {
          const { page } = playground;
          const name = `${colorScheme}-${width}`;
          await assertAccessible(page);
          await assertNotWiderThanWindow(page);
          await takeScreenshot(page, `${name}-before`);
          await playground.loadSample();
          await playground.run();
          await takeScreenshot(page, name);
          await page.locator('details').evaluateAll((all) => {
            all.forEach((details) => details.setAttribute('open', ''));
          });
          await assertAccessible(page);
          await assertNotWiderThanWindow(page);
          await takeScreenshot(page, `${name}-open`);
        },
        { colorScheme, width },
      );
    });
  }
}

test('more contrast, and the colours of the system', async () => {
  await visit(async ({ page }) => {
    const rule = () =>
      page.locator('#comparison tbody th').first().evaluate((cell) => getComputedStyle(cell).borderBottomColor);
    const usual = await rule();
    await page.emulateMedia({ contrast: 'more' });
    assert.notEqual(await rule(), usual);
    await assertAccessible(page);
    await page.emulateMedia({ contrast: 'no-preference', forcedColors: 'active' });
    await assertAccessible(page);
    await takeScreenshot(page, 'forced-colors');
  });
});
