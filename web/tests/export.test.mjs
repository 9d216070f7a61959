// Commands, code, files and links that the page exports.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { generateSample, simulate } from './command-line.mjs';

const visit = startBrowser();

test('commands, code, tables and charts', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Access log');
    await playground.run();
    // The filter with the fewest errors is selected; here it is another one.
    const best = await page.locator('#comparison tbody tr').first().getAttribute('data-filter');
    assert.equal(await page.locator('#export-filter option:checked').innerText(), best);
    await page.locator('#export-filter').selectOption({ index: 0 });
    const [row] = await playground.outcomes();
    const commands = await page.locator('#export-commands').innerText();
    const create = `dedupstore create seen.dds --filter ${row?.filter} --memory 8KiB --seed 1 --field 7`;
    const generate = 'dedupstore generate crawl:1:9000 --count 50000 --seed 2 --as access-log > access.log';
    assert.equal(commands, `${generate}\n${create}\ndedupstore filter seen.dds access.log`);
    assert.match(await page.locator('#export-code').innerText(), /SeenSet::builder\(".*"\)\?\s+\.memory\("8KiB"\)\s+\.seed\(1\)\s+\.build\(\)\?/);

    const results = (await playground.download('Results as CSV')).toString().split('\n');
    assert.equal(results[0]?.split(',')[0], '"filter"');
    assert.ok(results[1]?.startsWith(`"${row?.filter}",65536,50000,`), results[1]);
    const curves = (await playground.download('Curves as CSV')).toString().trimEnd().split('\n');
    assert.ok(curves.length > 100, `${curves.length} lines`);
    const svg = (await playground.download('Save as SVG: New keys skipped')).toString();
    assert.match(svg, /^<svg .*>New keys skipped<.*access\.log.*8\sKiB per filter.*>Bloom \(k=4\), .*<\/svg>\n$/s);
    assert.ok(svg.includes('fill="#fff"'), 'a white background');
    const png = await playground.download('Save as PNG: Repeats let through');
    assert.equal(png.subarray(1, 4).toString(), 'PNG');
    const width = Number(/width="(\d+)"/.exec(svg)?.[1]);
    assert.equal(png.readUInt32BE(16), 2 * width);
  });
});

test('a saved chart has the same colours in both colour schemes', async () => {
  /** @type {string[]} */
  const pictures = [];
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    await visit(
      async (playground) => {
        pictures.push((await playground.download('Save as SVG: New keys skipped')).toString());
      },
      { colorScheme },
    );
  }
  assert.equal(pictures[1], pictures[0]);
  assert.equal(new Set(pictures[0]?.match(/stroke="#\w{6}"/g)).size, 5, 'a colour per filter');
});

test('a link restores all settings and the sample', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await page.getByRole('button', { name: 'Remove stable' }).click();
    await playground.setMemory(3, 'KiB');
    await playground.setSeed(77);
    await playground.loadSample('Access log');
    await page.getByLabel('Which part of a line').selectOption({ label: 'IP address and URL' });
    await page.locator('#key-preview li', { hasText: /^10\.[\d.]+ \// }).first().waitFor();
    await playground.run();
    const before = await playground.outcomes();
    await page.getByRole('button', { name: 'Copy a link to these settings' }).click();
    await page.locator('#export-status', { hasText: 'Link copied' }).waitFor();
    const link = page.url();

    await page.goto('about:blank');
    await page.goto(link);
    await playground.opened();
    await page.locator('#log-name', { hasText: 'access.log' }).waitFor();
    await playground.run();
    const after = await playground.outcomes();
    assert.deepEqual(after, before);
    const log = generateSample('Access log');
    const settings = { memoryBits: 3 << 13, seed: 77, key: ['--field', '1,7'] };
    const filters = after.map(({ filter }) => filter);
    assert.deepEqual(after, simulate(log, filters, settings));
    assert.ok(!after.some(({ filter }) => filter.startsWith('stable:')));
  });
});

test('the properties of a log', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const lines = ['a', 'b', 'a', 'c', 'a', 'a', 'b'].map((line) => `${line}\n`).join('');
    await playground.choose({ name: 'few.txt', mimeType: 'text/plain', buffer: Buffer.from(lines) });
    await playground.run();
    const facts = await page.locator('#profile-facts dd').allTextContents();
    assert.deepEqual(facts, ['7', '3', '57.1\u00a0%']);
    const gaps = await page.locator('#gaps tbody tr').allTextContents();
    // Gaps of 2, 2, 1 and 5 lines.
    assert.deepEqual(gaps, ['125.0\u00a0%', '2 to 350.0\u00a0%', '4 to 725.0\u00a0%']);
    const top = await page.locator('#top-keys tbody tr').first().locator('th, td').allTextContents();
    assert.deepEqual(top, ['a', '4', '57.1\u00a0%']);
    const bars = await page.locator('#gaps tbody tr').evaluateAll((rows) =>
      rows.map((row) => {
        const text = document.createRange();
        text.selectNodeContents(row.querySelector('th') ?? row);
        const [bar, beside] = [row.querySelector('.gap-bar'), text].map((it) => it?.getBoundingClientRect());
        const middle = (/** @type {DOMRect | undefined} */ it) => ((it?.top ?? 0) + (it?.bottom ?? 0)) / 2;
        return { above: Math.abs(middle(bar) - middle(beside)), width: bar?.width ?? 0 };
      }),
    );
    assert.ok(bars.every(({ above }) => above < 2), `bars beside their text: ${JSON.stringify(bars)}`);
    const [first, second] = bars.map(({ width }) => width);
    assert.ok(Math.abs((second ?? 0) / (first ?? 1) - 2) < 0.1, `one and two repeats: ${first}, ${second}`);
    // On a phone, the ends of keys are not cut: keys of one site differ there.
    await page.setViewportSize({ width: 390, height: 800 });
    await playground.loadSample();
    const cut = await page.locator('#top-keys tbody th').evaluateAll((keys) =>
      keys.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length,
    );
    assert.equal(cut, 0);
  });
});
