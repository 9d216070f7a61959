// The form after advice and a run on a sample, in both colour schemes, on a desktop and on a phone.

import { test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { assertAccessible, assertNotWiderThanWindow, takeScreenshot } from './appearance-checks.mjs';

const visit = startBrowser();

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  for (const width of [1280, 390]) {
    test(`advice, a sample and lines over time: ${colorScheme}, ${width} pixels wide`, async () => {
      await visit(
        async (playground) => {
          const { page } = playground;
          await playground.loadSample('Access log');
          await page.getByLabel('Which part of a line').selectOption({ label: 'A regular expression…' });
          await page.locator('#key-text').fill('"GET (\\S+)');
          await page.getByLabel('Clean up URLs').check();
          await page.locator('#key-effect', { hasText: /clean-up (merges|changes)/ }).waitFor();
          await page.getByLabel('Read', { exact: true }).selectOption('oneKeyIn');
          await page.getByText('Set limits').click();
          await page.getByRole('button', { name: 'Get advice' }).click();
          await page.locator('#advice-answer').waitFor();
          await page.getByRole('button', { name: 'Use these filters' }).click();
          await playground.run();
          await page.getByText('Lines over time as a table').click();
          await assertAccessible(page);
          await assertNotWiderThanWindow(page);
          await takeScreenshot(page, `input-${colorScheme}-${width}`);
        },
        { colorScheme, width },
      );
    });
  }
}
