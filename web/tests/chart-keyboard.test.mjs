// What a pointer reads off the pictures, the keyboard reads too, and it is said aloud.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stage } from './browser.mjs';
import { assertAccessible } from './looks.mjs';

const visit = stage();

test('the points of the map: from memory to memory, from filter to filter, pinned', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const filters = await playground.drawMapOfSample();
    const said = page.locator('#map-said');
    assert.equal(await said.getAttribute('role'), 'status');
    const hint = await said.innerText();
    await page.getByLabel('What the map compares').focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'map-chart');
    /** @param {string} key @param {string} filter @param {RegExp} memory */
    const goesTo = async (key, filter, memory) => {
      await page.keyboard.press(key);
      const text = await said.innerText();
      assert.ok(text.startsWith(`${filter} in `), text);
      assert.match(text, memory);
      assert.equal(await page.locator('.map-point.reached').count(), 1);
    };
    const [first = '', second = ''] = filters;
    assert.ok((await said.innerText()).startsWith(`${first} in 1\u00a0KiB: drops`));
    await goesTo('ArrowRight', first, /in 2\sKiB/);
    await goesTo('ArrowDown', second, /in 2\sKiB/);
    await goesTo('End', second, /in 64\sKiB/);
    await goesTo('ArrowRight', second, /in 64\sKiB/);
    await goesTo('ArrowUp', first, /in 64\sKiB/);
    await page.keyboard.press('Enter');
    const pinned = page.locator('#map-pinned li');
    assert.match(await pinned.innerText(), /in 64\sKiB: drops/);
    await assertAccessible(page);
    await page.keyboard.press('Tab');
    assert.equal(await said.innerText(), hint);
    assert.equal(await page.locator('.map-point.reached').count(), 0);
  });
});

test('the cells of a filter: in all four directions, to both ends', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample();
    await playground.run();
    await page.getByLabel('Its memory').selectOption('64');
    await page.locator('#inside-counted', { hasText: 'Of 512 bits' }).waitFor();
    await page.getByRole('button', { name: 'Next line' }).click();
    await page.locator('#inside-counted', { hasText: 'Line 1,' }).waitFor();
    const said = page.locator('#inside-said');
    await page.locator('#inside-cells').focus();
    /** @param {number} index */
    const isAt = (index) => said.filter({ hasText: new RegExp(`^bit ${index} holds [01]`) }).waitFor();
    await isAt(0);
    await page.keyboard.press('ArrowRight');
    await isAt(1);
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await isAt(0);
    await page.keyboard.press('ArrowDown');
    await said.filter({ hasText: /^bit [1-9]\d+ holds/ }).waitFor();
    await page.keyboard.press('ArrowUp');
    await isAt(0);
    await page.keyboard.press('End');
    await isAt(511);
    await assertAccessible(page);
    await page.keyboard.press('Home');
    await isAt(0);
    await page.keyboard.press('Shift+Tab');
    await said.filter({ hasText: /^Point at a cell/ }).waitFor();
  });
});
