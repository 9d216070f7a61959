// The map: the same numbers as one run after another, and settings that can be pinned.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stage } from './browser.mjs';
import { INITIAL_MEMORY_BITS, generated, simulate } from './command-line.mjs';

const visit = stage();

test('memories and filters are swept, pointed at and pinned', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample();
    await playground.run();
    const filters = (await playground.outcomes()).map(({ filter }) => filter);
    await page.getByRole('button', { name: 'Draw the map' }).click();
    await page.locator('.map-point').first().waitFor();
    assert.equal(await page.locator('.map-point').count(), 7 * filters.length);

    await page.getByText('The map as a table').click();
    const row = page.locator('#map-table tbody tr').first();
    const shown = await row.locator('td').allTextContents();
    const filter = filters[0] ?? '';
    const memoryBits = INITIAL_MEMORY_BITS / 8;
    const [printed] = simulate(generated('Crawl'), [filter], { memoryBits, seed: 1 });
    assert.equal(shown[0], '1\u00a0KiB');
    assert.equal(shown[1], `${((printed?.fpr ?? 0) * 100).toPrecision(3)}\u00a0%`);

    await page.locator('.map-point').last().click();
    await row.getByRole('button', { name: /^Pin/ }).click();
    const pinned = page.locator('#map-pinned li');
    assert.equal(await pinned.count(), 2);
    assert.match(await pinned.last().innerText(), /in 1\sKiB: drops/);
    await pinned.first().getByRole('button', { name: /^Remove/ }).click();
    assert.equal(await pinned.count(), 1);
  });
});
