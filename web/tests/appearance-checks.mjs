// Checks of the page's appearance: accessible, and never wider than the window. Writes
// screenshots to test-output.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** @typedef {import('playwright-core').Page} Page */

const output = fileURLToPath(new URL('../test-output', import.meta.url));
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
mkdirSync(output, { recursive: true });

/** Returns the path of a file that a test writes. @param {string} name */
export function outputPath(name) {
  return `${output}/${name}`;
}

/** @param {Page} page */
export async function assertAccessible(page) {
  // Evaluated instead of added: the page allows no foreign scripts.
  await page.evaluate(axe);
  const violations = await page.evaluate(async () => {
    const { axe } = /** @type {{ axe: import('axe-core') }} */ (/** @type {unknown} */ (window));
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`);
  });
  assert.deepEqual(violations, []);
}

/** @param {Page} page */
export async function assertNotWiderThanWindow(page) {
  const [content, window, widest] = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    const wide = [...document.querySelectorAll('body *')].filter(
      (element) => element.getBoundingClientRect().right > clientWidth,
    );
    const named = wide.map(({ tagName, id, className }) => `${tagName}#${id}.${className}`);
    return [scrollWidth, clientWidth, named.slice(0, 12).join(' ')];
  });
  assert.equal(content, window, `beyond the window: ${widest}`);
}

/**
 * Takes a screenshot of the whole page. The window gets the height of the page, so that
 * sticky elements are in their normal place.
 *
 * @param {Page} page
 * @param {string} name
 * @param {string} [part] a selector; the whole page by default
 */
export async function takeScreenshot(page, name, part = 'body') {
  const window = page.viewportSize() ?? { width: 1280, height: 900 };
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({ width: window.width, height });
  const path = outputPath(`${name}.png`);
  await (part === 'body' ? page.screenshot({ path }) : page.locator(part).screenshot({ path }));
  await page.setViewportSize(window);
}
