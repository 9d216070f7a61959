// Lines over time, for logs whose lines carry a time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { SAMPLE_LINES } from './command-line.mjs';

const visit = startBrowser();

/** @param {import('playwright-core').Page} page */
async function table(page) {
  await page.getByText('Lines over time as a table').click();
  return page.locator('#lines-over-time tbody tr').evaluateAll((rows) =>
    rows.map((row) => [...row.children].map((cell) => cell.textContent ?? '')),
  );
}

test('bars and a table of lines per interval', async () => {
  // 30 lines in the first minute, none in the second, 10 in the third.
  const lines = [
    ...Array.from({ length: 30 }, (_, i) => `{"ts":${1_772_323_200 + i},"url":"/${i % 7}"}\n`),
    ...Array.from({ length: 10 }, (_, i) => `{"ts":${1_772_323_320 + i},"url":"/${i % 7}"}\n`),
  ];
  await visit(async (playground) => {
    const { page } = playground;
    const buffer = Buffer.from(lines.join(''));
    await playground.choose({ name: 'clock.jsonl', mimeType: 'text/plain', buffer });
    await playground.examined();
    await playground.run();
    assert.equal(await page.locator('.time-caption').innerText(), 'Lines over time, 5 seconds per bar');
    const label = await page.locator('.time-drawing').getAttribute('aria-label');
    assert.match(label ?? '', /^Bar chart: .* from Mar 1, 2026, 00:00:00 to Mar 1, 2026, 00:02:10 UTC/);
    const rows = await table(page);
    assert.equal(rows.length, 26);
    assert.deepEqual(rows.slice(0, 2).map(([, count]) => count), ['5', '5']);
    assert.equal(rows[10]?.[1], '0');
    assert.equal(rows.reduce((sum, [, count]) => sum + Number(count), 0), 40);
  });
});

test('two samples carry times, one does not', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    for (const sample of /** @type {const} */ (['Access log', 'Click stream'])) {
      await playground.loadSample(sample);
      await playground.run();
      assert.ok(await page.locator('#lines-over-time').isVisible(), sample);
    }
    const rows = await table(page);
    const sum = rows.reduce((sum, [, count]) => sum + Number(count?.replaceAll(',', '')), 0);
    assert.equal(sum, SAMPLE_LINES);
    await playground.loadSample('Crawl');
    await playground.run();
    assert.ok(await page.locator('#lines-over-time').isHidden());
  });
});
