// The page in both colour schemes, on a desk and in a hand: legible to everyone, and
// never wider than the window. Leaves a picture of each in test-output.

import assert from 'node:assert/strict';
import { mkdir, readFile, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { stage } from './browser.mjs';

/** @typedef {import('playwright-core').Page} Page */

const visit = stage();
const pictures = fileURLToPath(new URL('../test-output', import.meta.url));
const store = fileURLToPath(new URL('../../fixtures/stores/version-1-bloom.dds', import.meta.url));
const axeFile = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
/** @type {string} */
let axe;

before(async () => {
  axe = await readFile(axeFile, 'utf8');
  await mkdir(pictures, { recursive: true });
});

/** @param {Page} page */
async function assertAccessible(page) {
  // Evaluated, not added to the page: the page allows no scripts but its own.
  await page.evaluate(axe);
  const violations = await page.evaluate(async () => {
    const { axe } = /** @type {{ axe: import('axe-core') }} */ (/** @type {unknown} */ (window));
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`);
  });
  assert.deepEqual(violations, []);
}

/** @param {Page} page */
async function assertNotWiderThanWindow(page) {
  const [content, window] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ]);
  assert.equal(content, window);
}

/**
 * A picture of the whole page in a window as tall, so that what sticks to the window's
 * edge is where it belongs.
 *
 * @param {Page} page
 * @param {string} name
 */
async function takePicture(page, name) {
  const window = page.viewportSize() ?? { width: 1280, height: 900 };
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({ width: window.width, height });
  await page.screenshot({ path: `${pictures}/${name}.png` });
  await page.setViewportSize(window);
}

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
          await playground.chooseStore((await readdir(store)).map((name) => `${store}/${name}`));
          await page.locator('#store-report').waitFor();
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
