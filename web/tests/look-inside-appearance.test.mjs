// "Look inside" in both colour schemes, on a desktop and on a phone.

import { test } from 'node:test';
import { assertAccessible, assertNotWiderThanWindow, takeScreenshot } from './appearance-checks.mjs';
import { startBrowser } from './browser.mjs';
import { choose, play, runAllFilters } from './look-inside.mjs';

const visit = startBrowser();

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  for (const width of [1280, 390]) {
    test(`${colorScheme}, ${width} pixels wide`, async () => {
      await visit(
        async (playground) => {
          const { page } = playground;
          await runAllFilters(playground);
          // With reduced motion there is only one update per second.
          await page.emulateMedia({ reducedMotion: 'no-preference' });
          for (const name of ['blocked', 'word', 'stable']) {
            await choose(playground, name);
            await play(playground, '2000');
            await page.locator('#inside-fn-rows tr').first().waitFor();
            await page.locator('#inside-play').click();
            await page.getByRole('button', { name: 'Next line' }).click();
            await page.locator('#inside-recent button').nth(1).click();
            await page.locator('#inside-selected').waitFor();
            await assertNotWiderThanWindow(page);
            await takeScreenshot(page, `inside-${name}-${colorScheme}-${width}`, '#inside');
          }
          await page.locator('details').evaluateAll((all) => {
            all.forEach((details) => details.setAttribute('open', ''));
          });
          await assertAccessible(page);
          await assertNotWiderThanWindow(page);
          await takeScreenshot(page, `explanations-${colorScheme}-${width}`, '#filter-list');
        },
        { colorScheme, width },
      );
    });
  }
}
