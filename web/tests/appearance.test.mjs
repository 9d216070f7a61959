// The page in both colour schemes, on a desk and in a hand: legible to everyone, and
// never wider than the window. Leaves a picture of each in test-output.

import { test } from 'node:test';
import { stage } from './browser.mjs';
import { assertAccessible, assertNotWiderThanWindow, takePicture } from './looks.mjs';

const visit = stage();

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  for (const width of [1280, 390]) {
    test(`${colorScheme}, ${width} pixels wide`, async () => {
      await visit(
        async (playground) => {
          const { page } = playground;
          const picture = `${colorScheme}-${width}`;
          await assertAccessible(page);
          await assertNotWiderThanWindow(page);
          await takePicture(page, `${picture}-before`);
          await playground.loadSample();
          await playground.run();
          await takePicture(page, picture);
          await page.locator('details').evaluateAll((all) => {
            all.forEach((details) => details.setAttribute('open', ''));
          });
          await assertAccessible(page);
          await assertNotWiderThanWindow(page);
          await takePicture(page, `${picture}-open`);
        },
        { colorScheme, width },
      );
    });
  }
}
