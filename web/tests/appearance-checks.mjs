// How the page looks: legible to everyone, never wider than the window, and pictures of it
// in test-output for a person to look at.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** @typedef {import('playwright-core').Page} Page */

const pictures = fileURLToPath(new URL('../test-output', import.meta.url));
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
mkdirSync(pictures, { recursive: true });

/** @param {Page} page */
export async function assertAccessible(page) {
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
export async function assertNotWiderThanWindow(page) {
  const [content, window, widest] = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    const reach = [...document.querySelectorAll('body *')].filter(
      (element) => element.getBoundingClientRect().right > clientWidth,
    );
    const named = reach.map(({ tagName, id, className }) => `${tagName}#${id}.${className}`);
    return [scrollWidth, clientWidth, named.slice(0, 12).join(' ')];
  });
  assert.equal(content, window, `beyond the window: ${widest}`);
}

/**
 * A picture of the whole page in a window as tall, so that what sticks to the window's
 * edge is where it belongs.
 *
 * @param {Page} page
 * @param {string} name
 * @param {string} [part] a selector; all of the page without it
 */
export async function takePicture(page, name, part = 'body') {
  const window = page.viewportSize() ?? { width: 1280, height: 900 };
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({ width: window.width, height });
  const path = `${pictures}/${name}.png`;
  await (part === 'body' ? page.screenshot({ path }) : page.locator(part).screenshot({ path }));
  await page.setViewportSize(window);
}
