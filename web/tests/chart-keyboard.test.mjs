// The keyboard reaches every point and cell of the charts, and a status line describes it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { assertAccessible } from './appearance-checks.mjs';

const visit = startBrowser();

test('the points of the map: change the memory, change the filter, pin', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.drawMapOfSample();
    const filters = await page.locator('#map-legend .name').allTextContents();
    const status = page.locator('#map-status');
    assert.equal(await status.getAttribute('role'), 'status');
    const hint = await status.innerText();
    await page.getByRole('button', { name: 'Draw the map' }).focus();
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'map-chart');
    /** @param {string} key @param {string} filter @param {RegExp} memory */
    const assertMoves = async (key, filter, memory) => {
      await page.keyboard.press(key);
      const text = await status.innerText();
      assert.ok(text.startsWith(`${filter} in `), text);
      assert.match(text, memory);
      assert.equal(await page.locator('.map-point.current').count(), 1);
    };
    const [first = '', second = ''] = filters;
    assert.ok((await status.innerText()).startsWith(`${first} in 1\u00a0KiB: skips`));
    await assertMoves('ArrowRight', first, /in 2\sKiB/);
    await assertMoves('ArrowDown', second, /in 2\sKiB/);
    await assertMoves('End', second, /in 64\sKiB/);
    await assertMoves('ArrowRight', second, /in 64\sKiB/);
    await assertMoves('ArrowUp', first, /in 64\sKiB/);
    await page.keyboard.press('Enter');
    const pinned = page.locator('#map-pinned li');
    assert.match(await pinned.innerText(), /in 64\sKiB: skips/);
    await assertAccessible(page);
    await page.keyboard.press('Tab');
    assert.equal(await status.innerText(), hint);
    assert.equal(await page.locator('.map-point.current').count(), 0);
  });
});

test('the cells of a filter: all four directions and both ends', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample();
    await playground.run();
    await page.getByLabel('Memory of the small filter').selectOption('64');
    await page.locator('#inside-summary', { hasText: 'of 512 bits' }).waitFor();
    await page.getByRole('button', { name: 'Next line' }).click();
    await page.locator('#inside-summary', { hasText: 'Line 1,' }).waitFor();
    const text = page.locator('#inside-cell-text');
    await page.locator('#inside-cells').focus();
    /** @param {number} index */
    const waitForCell = (index) => text.filter({ hasText: new RegExp(`^bit ${index} holds [01]`) }).waitFor();
    await waitForCell(0);
    await page.keyboard.press('ArrowRight');
    await waitForCell(1);
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await waitForCell(0);
    await page.keyboard.press('ArrowDown');
    await text.filter({ hasText: /^bit [1-9]\d+ holds/ }).waitFor();
    await page.keyboard.press('ArrowUp');
    await waitForCell(0);
    await page.keyboard.press('End');
    await waitForCell(511);
    await assertAccessible(page);
    await page.keyboard.press('Home');
    await waitForCell(0);
    await page.keyboard.press('Shift+Tab');
    await text.filter({ hasText: /^Point at a cell/ }).waitFor();
  });
});
