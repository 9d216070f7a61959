// The answer: the memory for few errors in its table, and the values at the pointer in its charts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { generateSample, simulate } from './command-line.mjs';

const visit = startBrowser();

test('the memory for 0.1 % wrong lines is found after the answer, once per log', async () => {
  const log = generateSample('Crawl');
  await visit(async (playground) => {
    const { page } = playground;
    const cells = page.locator('#comparison .enough-memory');
    await page.waitForFunction(() =>
      [...document.querySelectorAll('#comparison .enough-memory')].every(({ textContent }) => /\d|not possible/.test(textContent ?? '')),
    );
    const found = await page.locator('#comparison tbody tr').evaluateAll((rows) =>
      rows.map((row) => ({
        filter: row.getAttribute('data-filter') ?? '',
        bits: Number(row.querySelector('.enough-memory')?.getAttribute('data-bits')),
      })),
    );
    assert.ok(found.filter(({ bits }) => bits > 0).length >= 3, JSON.stringify(found));
    const wrong = (/** @type {string} */ filter, /** @type {number} */ memoryBits) => {
      const [row] = simulate(log, [filter], { memoryBits, seed: 1 });
      return ((row?.fp ?? 0) + (row?.fn ?? 0)) / (row?.count ?? 1);
    };
    for (const { filter, bits } of found.filter(({ bits }) => bits > 0)) {
      assert.ok(wrong(filter, bits) <= 0.001, `${filter} in ${bits} bits: ${wrong(filter, bits)}`);
      const less = 8 * Math.floor((bits * 0.93) / 8);
      assert.ok(wrong(filter, less) > 0.001, `${filter} in ${less} bits: ${wrong(filter, less)}`);
    }
    const before = await cells.allTextContents();
    // Another memory leaves it as it is; another seed computes it again.
    await playground.setMemory(16, 'KiB');
    await playground.finished();
    assert.deepEqual((await cells.allTextContents()).toSorted(), before.toSorted());
    await playground.setSeed(7);
    await playground.finished();
    assert.ok((await cells.allTextContents()).every((text) => text === '…'));
    await page.waitForFunction(() =>
      [...document.querySelectorAll('#comparison .enough-memory')].every(({ textContent }) => /\d|not possible/.test(textContent ?? '')),
    );
  });
});

test('all values are shown beside the pointer, the largest first', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const chart = page.locator('#fpr-chart .u-over');
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    assert.ok(box !== null);
    const tip = page.locator('#fpr-chart .chart-tip');
    for (const share of [0.1, 0.5, 0.97]) {
      await page.mouse.move(box.x + box.width * share, box.y + box.height / 2);
      await tip.waitFor();
      const rows = await tip.locator('p').allInnerTexts();
      // The range, five filters, and the bound.
      assert.equal(rows.length, 7, rows.join('\n'));
      assert.match(rows[0] ?? '', /^Lines 1 to [\d,]+$/);
      const values = rows.slice(1).map((row) => Number(/([\d.]+)\s%$/.exec(row)?.[1] ?? -1));
      assert.deepEqual(values, values.toSorted((a, b) => b - a));
      const place = await tip.boundingBox();
      assert.ok(place !== null && place.x >= box.x && place.x + place.width <= box.x + box.width + 1);
      const legend = await page.locator('#fpr-chart .legend-value').allInnerTexts();
      assert.deepEqual(
        rows.slice(1).map((row) => row.split('\n').at(-1)).toSorted(),
        legend.toSorted(),
      );
    }
    // The other charts have the same cursor, without a box.
    assert.ok(await page.locator('#fnr-chart .chart-tip').isHidden());
    await page.mouse.move(5, 5);
    await tip.waitFor({ state: 'hidden' });
  });
});
