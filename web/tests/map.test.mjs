// The map: the same numbers as single runs, and settings that can be pinned.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { INITIAL_MEMORY_BITS, generateSample, simulate } from './command-line.mjs';

const visit = startBrowser();

test('filters with several memory sizes, and pinned settings', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const filters = await playground.drawMapOfSample();
    assert.equal(await page.locator('.map-point').count(), 7 * filters.length);

    await page.getByText('The map as a table').click();
    const row = page.locator('#map-table tbody tr').first();
    const shown = await row.locator('td').allTextContents();
    const filter = filters[0] ?? '';
    const memoryBits = INITIAL_MEMORY_BITS / 8;
    const [printed] = simulate(generateSample('Crawl'), [filter], { memoryBits, seed: 1 });
    assert.equal(shown[0], '1\u00a0KiB');
    assert.equal(shown[1], `${((printed?.fpr ?? 0) * 100).toPrecision(3)}\u00a0%`);

    await page.locator('.map-point').last().click();
    await row.getByRole('button', { name: /^Pin/ }).click();
    const pinned = page.locator('#map-pinned li');
    assert.equal(await pinned.count(), 2);
    assert.match(await pinned.last().innerText(), /in 1\sKiB: skips/);
    await pinned.first().getByRole('button', { name: /^Unpin/ }).click();
    assert.equal(await pinned.count(), 1);
  });
});

for (const width of [1280, 390]) {
  test(`the points of the map are apart, and the best filters are named: ${width} pixels`, async () => {
    await visit(
      async (playground) => {
        const { page } = playground;
        await playground.drawMapOfSample();
        const points = await page.locator('.map-point').evaluateAll((all) =>
          all.map((point) => {
            const { left, top, width } = point.getBoundingClientRect();
            return { x: left + width / 2, y: top + width / 2, radius: Number(point.getAttribute('r')) };
          }),
        );
        assert.equal(points.length, 35);
        const covered = points.filter((a, index) =>
          points.slice(index + 1).some((b) => Math.hypot(a.x - b.x, a.y - b.y) < a.radius + b.radius),
        );
        assert.deepEqual(covered, []);
        const frame = await page.locator('.map-drawing').boundingBox();
        const right = Math.max(...points.map(({ x }) => x)) - (frame?.x ?? 0);
        assert.ok(right > 0.85 * (frame?.width ?? 0), 'the points use the width');
        const labels = await page.locator('.map-label').allTextContents();
        assert.ok(labels.length >= 1 && labels.every((label) => /Bloom/.test(label)), `${labels}`);
        await page.getByLabel('Axes of the map').selectOption('errors');
        assert.equal(await page.locator('.map-size').count(), 2);
        assert.ok((await page.locator('.map-front').count()) >= 1);
        assert.match(`${await page.locator('.map-label').allTextContents()}`, /KiB/);
        // Without false negatives there is one axis of errors.
        for (const name of ['Remove stable', 'Remove rlbsbf', 'Remove word', 'Remove blocked']) {
          await page.getByRole('button', { name }).click();
        }
        await playground.finished();
        await page.getByLabel('What the map compares').selectOption({ label: 'k of bloom:k=4,layout=shared' });
        await page.getByRole('button', { name: 'Draw the map' }).click();
        await page.waitForFunction(() => document.querySelectorAll('.map-point').length > 35);
        assert.ok(await page.getByLabel('Axes of the map').isHidden());
        const heights = await page.locator('.map-point').evaluateAll((all) => all.map((point) => point.getAttribute('cy')));
        assert.ok(new Set(heights).size > 20, `${heights}`);
      },
      { width },
    );
  });
}

test('values of a parameter, without impossible settings', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample();
    await playground.setMemory(1, 'KiB');
    await playground.addAllFilters();
    await playground.run();
    /** @param {string} label */
    const draw = async (label) => {
      // The content is loaded when the section comes into view.
      await page.locator('#map').scrollIntoViewIfNeeded();
      await page.getByLabel('What the map compares').selectOption({ label });
      await page.getByRole('button', { name: 'Draw the map' }).click();
      await page.locator(`#map-details[data-plan="${label}"]`).waitFor();
      return page.locator('#map-table tbody tr').evaluateAll((rows) =>
        rows.map((row) => ({
          filter: row.getAttribute('data-filter') ?? '',
          memoryBits: Number(row.getAttribute('data-memory-bits')),
          fpr: row.querySelectorAll('td')[1]?.textContent,
          fnr: row.querySelectorAll('td')[2]?.textContent,
        })),
      );
    };
    const swept = await draw('k of stable:k=2,p=4,max=1');
    const values = [...new Set(swept.map(({ filter }) => filter))];
    assert.equal(swept.length, 7 * values.length);
    assert.ok(values.includes('stable:k=2,p=4,max=1') && values.length >= 5, values.join(' '));
    const legend = page.locator('#map-legend .name');
    const titles = await legend.evaluateAll((all) => all.map((name) => name.getAttribute('title')));
    assert.deepEqual(titles, values);
    const one = swept.at(-1);
    const [printed] = simulate(generateSample('Crawl'), [one?.filter ?? ''], {
      memoryBits: one?.memoryBits ?? 0,
      seed: 1,
    });
    assert.equal(one?.memoryBits, 8 << 13);
    assert.equal(one?.fnr, `${((printed?.fnr ?? 0) * 100).toPrecision(3)}\u00a0%`);

    const fewer = await draw('r of sqf:r=2,rr=1,k=4,fingerprint=hashed');
    assert.ok(fewer.length > 0);
    const possible = await draw('rr of sqf:r=2,rr=1,k=4,fingerprint=hashed');
    assert.ok(possible.every(({ filter }) => /rr=[01],/.test(filter)));
    assert.match(await page.locator('#map-skipped').innerText(), /impossible and left out: sqf:.* in .*rr must be less than r/);
  });
});
