// A part of a log: the first lines, or all lines of some keys. All results of a sample are
// marked.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { INITIAL_MEMORY_BITS, generateSample, simulate } from './command-line.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = startBrowser();

/** @param {Playground} playground @param {string} sample */
async function assertMarked({ page, status }, sample) {
  assert.ok((await status.innerText()).includes(`a sample (${sample})`), await status.innerText());
  for (const within of ['#profile', '#outcomes-caption', '#figures', '#map', '#export']) {
    const mark = page.locator(`${within} [data-sample]`).first();
    assert.equal(await mark.textContent(), `Sample: ${sample}`, within);
    assert.ok(await mark.evaluate((it) => !it.hasAttribute('hidden')), within);
  }
  const label = await page.locator('#fpr-chart .drawing').getAttribute('aria-label');
  assert.ok(label?.includes(`A sample: ${sample}.`), label ?? '');
}

test('the first lines give the results of a shorter log', async () => {
  const log = generateSample('Crawl');
  const head = Buffer.from(log.toString().split('\n').slice(0, 12_345).join('\n') + '\n');
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample();
    await page.getByLabel('Read', { exact: true }).selectOption('firstLines');
    assert.match(await page.locator('#part-hint').innerText(), /As if the log ended there/);
    await page.getByLabel('Number of lines').fill('12345');
    await playground.run();
    const shown = await playground.outcomes();
    const filters = shown.map(({ filter }) => filter);
    const settings = { memoryBits: INITIAL_MEMORY_BITS, seed: 1 };
    assert.deepEqual(shown, simulate(head, filters, settings));
    await assertMarked(playground, 'the first 12,345 lines');
    const csv = (await playground.download('Results as CSV')).toString();
    assert.ok(csv.includes('"the first 12,345 lines"'), csv);
    const svg = (await playground.download('Save as SVG: Repeats let through')).toString();
    assert.ok(svg.includes('a sample: the first 12,345 lines'), svg.slice(0, 400));

    await page.getByLabel('Number of lines').fill('0');
    await playground.start();
    await playground.message.filter({ hasText: 'whole number from 1' }).waitFor();
    await page.getByLabel('Read', { exact: true }).selectOption('all');
    await playground.run();
    assert.deepEqual(await playground.outcomes(), simulate(log, filters, settings));
    assert.ok(await page.locator('#outcomes-caption [data-sample]').isHidden());
    assert.ok(!(await playground.status.innerText()).includes('sample'));
  });
});

/**
 * Some 11,000 keys and 39,000 repeats, of which a quarter is taken. Repeats of a key share
 * its fate, so the rates' standard errors are some hundredths of themselves.
 */
test('one key in four gives the rates of the whole log', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Access log');
    await playground.run();
    const whole = await playground.outcomes();
    const wholeGaps = await page.locator('#gaps tbody tr').count();
    await page.getByLabel('Read', { exact: true }).selectOption('oneKeyIn');
    await page.getByLabel('Keys per sampled key').selectOption('4');
    await playground.run();
    await assertMarked(playground, 'one key in 4');
    const part = await playground.outcomes();
    part.forEach((row, place) => {
      const all = whole[place];
      assert.equal(row.filter, all?.filter);
      assert.equal(row.memory_bits, INITIAL_MEMORY_BITS);
      const distinct = (row.distinct ?? 0) / (all?.distinct ?? 0);
      assert.ok(distinct > 0.2 && distinct < 0.3, `${row.filter}: ${distinct} of the keys`);
      for (const rate of /** @type {const} */ (['fpr', 'fnr'])) {
        const [found, expected] = [row[rate] ?? 0, all?.[rate] ?? 0];
        const off = Math.abs(found - expected);
        assert.ok(off < 0.15 * expected + 0.01, `${row.filter}: ${rate} ${found} for ${expected}`);
      }
    });
    const gaps = await page.locator('#gaps tbody tr').count();
    assert.ok(Math.abs(gaps - wholeGaps) <= 3, `${gaps} and ${wholeGaps} spans of gaps`);
    assert.match(await page.locator('#gaps-note').innerText(), /one key in 4/);
    assert.equal(await page.locator('#gaps tbody th').first().innerText(), '4 to 7');

    const before = part;
    await page.getByRole('button', { name: 'Copy a link to these settings' }).click();
    await page.locator('#export-status', { hasText: 'Link copied' }).waitFor();
    const link = page.url();
    await page.goto('about:blank');
    await page.goto(link);
    await playground.ready();
    await page.locator('#log-name', { hasText: 'access.log' }).waitFor();
    await playground.run();
    assert.deepEqual(await playground.outcomes(), before);
    await assertMarked(playground, 'one key in 4');
  });
});
