// What is asked and answered around a log, in both colour schemes, on a desk and in a hand.

import { test } from 'node:test';
import { stage } from './browser.mjs';
import { assertAccessible, assertNotWiderThanWindow, takePicture } from './looks.mjs';

const visit = stage();

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  for (const width of [1280, 390]) {
    test(`advice, a sample and a clock: ${colorScheme}, ${width} pixels wide`, async () => {
      await visit(
        async (playground) => {
          const { page } = playground;
          await playground.loadSample('Access log');
          await page.getByLabel('Which part of a line').selectOption({ label: 'A regular expression…' });
          await page.locator('#key-text').fill('"GET (\\S+)');
          await page.getByLabel('One spelling for each URL').check();
          await page.locator('#key-effect', { hasText: 'Merges' }).waitFor();
          await page.getByLabel('Read', { exact: true }).selectOption('keys');
          await page.getByText('What can you bear?').click();
          await page.getByRole('button', { name: 'Ask for advice' }).click();
          await page.locator('#advice-answer').waitFor();
          await page.getByRole('button', { name: 'Use these filters' }).click();
          await playground.run();
          await page.getByText('The rate as a table').click();
          await assertAccessible(page);
          await assertNotWiderThanWindow(page);
          await takePicture(page, `input-${colorScheme}-${width}`);
        },
        { colorScheme, width },
      );
    });
  }
}
