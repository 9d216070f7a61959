// The page is alive: it opens with an answer about the sample, and every change of a setting gives
// the results of the command line without a button.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertAccessible, assertNotWiderThanWindow, takeScreenshot } from './appearance-checks.mjs';
import { startBrowser } from './browser.mjs';
import { COMPARED, INITIAL_MEMORY_BITS, generateSample, run, simulate } from './command-line.mjs';

const visit = startBrowser();
/** The slider's range: powers of two from 1 KiB to 64 MiB, and 1.5 times each. */
const [FIRST_POWER, LAST_POWER] = [10, 26];
const MAX_TASK_MILLISECONDS = 100;
const MAX_DRAGS = 5;

/** @param {import('./playground.mjs').Playground} playground @param {number} value */
async function slideTo({ page }, value) {
  await page.locator('#memory-slider').evaluate((slider, value) => {
    if (slider instanceof HTMLInputElement) {
      slider.value = String(value);
      slider.dispatchEvent(new Event('input', { bubbles: true }));
    }
  }, value);
}

/**
 * The longest task since the last call; tasks of up to 50 ms count as 0.
 * @param {import('playwright-core').Page} page
 */
function longestTask(page) {
  return page.evaluate(() => {
    const { tasks } = /** @type {{ tasks: number[] }} */ (/** @type {*} */ (window));
    return Math.max(0, ...tasks.splice(0));
  });
}

/** @param {number} value */
function bitsAt(value) {
  return 8 * 2 ** Math.floor(value) * (Number.isInteger(value) ? 1 : 1.5);
}

test('the page opens with a true sentence about the sample', async () => {
  const log = generateSample('Crawl');
  await visit(async (playground) => {
    const { page } = playground;
    await page.reload();
    await playground.opened();
    const shown = await playground.outcomes();
    const settings = { memoryBits: INITIAL_MEMORY_BITS, seed: 1 };
    assert.deepEqual(shown, simulate(log, shown.map(({ filter }) => filter), settings));
    const errors = (/** @type {typeof shown[number]} */ row) => (row.fp ?? 0) + (row.fn ?? 0);
    const best = shown.toSorted((a, b) => errors(a) - errors(b))[0];
    assert.ok(best);
    assert.equal(best.fn, 0);
    const sentence = (await page.locator('#answer-sentence').innerText()).replaceAll('\u00a0', ' ');
    const count = (/** @type {number | null} */ value) => (value ?? 0).toLocaleString('en');
    assert.match(sentence, /^In 8 KiB, an? .* is best here: /);
    assert.ok(
      sentence.endsWith(`it would skip ${count(best.fp)} of ${count(best.distinct)} new URLs and fetch none twice.`),
      sentence,
    );
    const scope = await page.locator('#answer-scope').innerText();
    assert.match(scope, /^crawl\.log, all lines · key: the whole line · 8\sKiB per filter · seed 1$/);
    await page.locator('#hero:not([hidden])').waitFor();
  });
});

test('dragging the memory over its range shows the numbers of the command line', async (t) => {
  const log = generateSample('Crawl');
  const values = Array.from({ length: 2 * (LAST_POWER - FIRST_POWER) + 1 }, (_, i) => FIRST_POWER + i / 2);
  await visit(async (playground) => {
    const { page } = playground;
    const filters = (await playground.outcomes()).map(({ filter }) => filter);
    const memories = values.flatMap((value) => ['--memory', `${bitsAt(value) / 8}`]);
    const chosen = filters.flatMap((filter) => ['--filter', filter]);
    const printed = run(['simulate', '--json', '--seed', '1', ...memories, ...chosen], log);
    const expected = printed
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    await page.evaluate(() => {
      /** @type {number[]} */
      const tasks = [];
      Object.assign(window, { tasks });
      new PerformanceObserver((list) => {
        tasks.push(...list.getEntries().map(({ duration }) => duration));
      }).observe({ type: 'longtask' });
    });
    // The measurement notices a long task.
    await page.evaluate(() => {
      setTimeout(() => {
        const end = performance.now() + 80;
        while (performance.now() < end);
      });
    });
    await page.waitForFunction(() => /** @type {*} */ (window).tasks.length > 0);
    assert.ok((await longestTask(page)) >= 80);
    const started = performance.now();
    for (const value of values) {
      await slideTo(playground, value);
      await playground.finished();
      const shown = await playground.outcomes();
      const same = expected.filter(({ memory_bits }) => memory_bits === bitsAt(value));
      const compared = same.map((row) => ({
        filter: row.filter,
        ...Object.fromEntries(COMPARED.map((column) => [column, row[column]])),
      }));
      assert.equal(compared.length, filters.length);
      assert.deepEqual(shown, compared);
    }
    const each = (performance.now() - started) / values.length;
    const longest = [await longestTask(page)];
    t.diagnostic(`${values.length} steps, ${each.toFixed(0)} ms each, compared with simulate`);
    // Faster than runs: the last value counts. Again if another program took the processor.
    do {
      for (const value of values) {
        await slideTo(playground, value);
        await page.waitForTimeout(16);
      }
      await playground.finished();
      longest.push(await longestTask(page));
    } while (longest.length < MAX_DRAGS && Math.min(...longest) >= MAX_TASK_MILLISECONDS);
    t.diagnostic(`longest task of each drag: ${longest.map((task) => task.toFixed(0)).join(', ')} ms`);
    assert.ok(Math.min(...longest) < MAX_TASK_MILLISECONDS, `${longest}`);
    await slideTo(playground, FIRST_POWER);
    await playground.finished();
    assert.equal((await playground.outcomes())[0]?.memory_bits, bitsAt(FIRST_POWER));
    const curves = (await playground.download('Curves as CSV')).toString().trimEnd().split('\n');
    const names = curves[0]?.split(',').map((name) => name.replaceAll('"', '')) ?? [];
    const bloom = curves.filter((line) => line.startsWith('"bloom:')).map((line) => line.replace(/^"[^"]*"/, 'bloom').split(','));
    const column = (/** @type {string} */ name) => bloom.map((cells) => Number(cells[names.indexOf(name)]));
    const least = column('least_cumulative_fpr');
    assert.ok(least.some((rate) => rate > 0.1), `${least}`);
    column('cumulative_fpr').forEach((rate, index) => assert.ok(rate >= (least[index] ?? 1), `${index}`));
  });
});

test('a parameter, the key and the seed run by themselves; a failed run keeps the results', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const card = page.locator('.filter-card').first();
    await card.locator('summary').first().click();
    await card.getByLabel('k', { exact: true }).fill('7');
    await playground.finished();
    assert.equal((await playground.outcomes())[0]?.filter, 'bloom:k=7,layout=shared');
    await playground.setSeed(5);
    await playground.finished();
    assert.match(await page.locator('#answer-scope').innerText(), /seed 5$/);
    const kept = await playground.outcomes();
    await card.getByLabel('k', { exact: true }).fill('99');
    await playground.message.filter({ hasText: 'k must be' }).waitFor();
    await playground.assertOutdated();
    assert.deepEqual(await playground.outcomes(), kept);
    await assertAccessible(page);
    // Back to the settings of the results: they are current again, without a run.
    await card.getByLabel('k', { exact: true }).fill('7');
    await playground.finished();
    assert.deepEqual(await playground.outcomes(), kept);
    assert.ok(await playground.message.isHidden());
  });
});

test('a large log is sampled until an exact run is requested', async () => {
  const lines = Array.from({ length: 300_000 }, (_, i) => `https://a.example/${'x'.repeat(100)}/${i % 200_000}\n`);
  const directory = await mkdtemp(join(tmpdir(), 'dedupstore-page-'));
  const path = join(directory, 'large.log');
  await writeFile(path, lines.join(''));
  await visit(async (playground) => {
    const { page } = playground;
    await playground.choose(path);
    await page.locator('#answer-scope', { hasText: 'large.log, a sample: one key in 2' }).waitFor();
    await playground.finished();
    assert.match(await page.locator('#answer-sentence').innerText(), /skip about [\d.]+\s% of new URLs/);
    await playground.run();
    assert.equal((await playground.outcomes())[0]?.count, 300_000);
    assert.match(await page.locator('#answer-scope').innerText(), /^large\.log, all lines/);
  });
  await rm(directory, { recursive: true });
});

test('a filter keeps its colour, and a legend entry shows it alone', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const colour = () =>
      page
        .locator('#comparison tr[data-filter^="stable"] .swatch')
        .evaluate((swatch) => getComputedStyle(swatch).stroke);
    const before = await colour();
    await page.getByRole('button', { name: 'Remove bloom' }).click();
    await playground.finished();
    assert.equal(await colour(), before);
    const entry = page.locator('#fpr-chart .legend-entry', { hasText: 'Stable' });
    await entry.click();
    assert.equal(await page.locator('.legend-entry[aria-pressed="true"]').count(), 4);
    await assertAccessible(page);
    await entry.click();
    assert.equal(await page.locator('.legend-entry[aria-pressed="true"]').count(), 0);
  });
});

test('a point of the map is taken over into the race and the commands', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.drawMapOfSample();
    await page.getByText('The map as a table').click();
    const row = page.locator('#map-table tbody tr[data-filter^="stable"]').last();
    await row.getByRole('button', { name: /^Use this/ }).click();
    await playground.finished();
    assert.equal((await playground.outcomes())[0]?.memory_bits, 8 * INITIAL_MEMORY_BITS);
    assert.match(await page.locator('#export-commands').innerText(), /--filter stable:\S+ --memory 64KiB/);
    assert.ok((await page.locator('.map-point').count()) > 0, 'the map stays');
    assert.match(await page.locator('#map-scope').innerText(), /8\sKiB per filter/);
  });
});

for (const [colorScheme, width] of /** @type {const} */ ([
  ['light', 1280],
  ['dark', 390],
])) {
  test(`first sight, charts and both maps: ${colorScheme}, ${width} pixels wide`, async () => {
    await visit(
      async (playground) => {
        const { page } = playground;
        const name = `${colorScheme}-${width}`;
        await takeScreenshot(page, `answer-${name}`, '#answer');
        await takeScreenshot(page, `charts-${name}`, '#figures');
        await playground.drawMapOfSample();
        await takeScreenshot(page, `map-memory-${name}`, '#map');
        await page.getByLabel('Axes of the map').selectOption('errors');
        await assertAccessible(page);
        await assertNotWiderThanWindow(page);
        await takeScreenshot(page, `map-errors-${name}`, '#map');
      },
      { colorScheme, width },
    );
  });
}

test('at a zoom of 400 % nothing covers the page', async () => {
  await visit(
    async ({ page }) => {
      await page.setViewportSize({ width: 320, height: 256 });
      await assertNotWiderThanWindow(page);
      const position = await page.locator('.start').evaluate((bar) => getComputedStyle(bar).position);
      assert.equal(position, 'static');
      await page.setViewportSize({ width: 390, height: 800 });
      assert.ok(await page.getByRole('button', { name: 'Run', exact: true }).isVisible());
      const box = await page.getByRole('button', { name: 'Run', exact: true }).boundingBox();
      assert.ok(box !== null && box.y + box.height <= 800, 'the button is in the window');
    },
    { width: 390 },
  );
});
