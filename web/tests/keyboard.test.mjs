// The page can be used without a pointer.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBrowser } from './browser.mjs';

const visit = startBrowser();

/** @param {import('playwright-core').Page} page */
function focused(page) {
  return page.evaluate(() => {
    const element = document.activeElement;
    return element?.id || element?.textContent?.trim() || element?.tagName || '';
  });
}

test('the keyboard alone loads and runs the sample and opens a table', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    // Nothing has the focus.
    await page.reload();
    await playground.opened();
    const reached = new Set();
    /** @param {string} goal */
    const tabTo = async (goal) => {
      for (let presses = 0; presses < 60; presses += 1) {
        await page.keyboard.press('Tab');
        const here = await focused(page);
        reached.add(here);
        if (here === goal) {
          return;
        }
      }
      assert.fail(`${goal} is not reached; reached: ${[...reached].join(', ')}`);
    };
    await tabTo('memory-slider');
    await page.keyboard.press('ArrowRight');
    assert.equal(await page.locator('#memory-size').inputValue(), '12');
    await tabTo('sample-crawl');
    await page.keyboard.press('Enter');
    await page.locator('#log-name', { hasText: 'crawl.log' }).waitFor();
    await tabTo('run');
    await page.keyboard.press('Enter');
    await playground.finished();
    assert.equal((await playground.outcomes())[0]?.memory_bits, 12 * 8192);
    await tabTo('The curves as a table');
    await page.keyboard.press('Enter');
    const rows = page.locator('#curves-table tbody tr');
    assert.ok(await rows.first().isVisible());
    assert.ok((await rows.count()) <= 41);
    const ids = ['memory-size', 'memory-unit', 'log-file', 'key-choice'];
    for (const id of [...ids, 'filter-choice', 'add-filter', 'add-all', 'seed', 'show-theory']) {
      assert.ok(reached.has(id), `${id} is not reached`);
    }
  });
});
