// Errors weighted by importance: the same numbers as the command line prints, and their looks.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { assertAccessible, assertNotWiderThanWindow, takeScreenshot } from './appearance-checks.mjs';
import { INITIAL_MEMORY_BITS, advise, generateSample, run } from './command-line.mjs';

const visit = startBrowser();
const COLUMNS = /** @type {const} */ (['wfp', 'wfn', 'precision_w', 'recall_w', 'crossover']);
const OPTIONS = ['--field', '1', '--delimiter', '\\t', '--importance-field', '2'];
const DEPTH = [...OPTIONS, '--importance-format', 'depth'];

/** @typedef {{ filter: string } & Record<(typeof COLUMNS)[number], number | null>} Weighted */

/** @param {import('playwright-core').Page} page @returns {Promise<Weighted[]>} */
async function shown(page) {
  await page.locator('#weighted-outcomes tbody tr').first().waitFor();
  return page.locator('#weighted-outcomes tbody tr').evaluateAll((rows, columns) => {
    return rows.map((row) => {
      const values = columns.map((column) => {
        const text = row.querySelector(`[data-column="${column}"]`)?.getAttribute('data-value');
        return [column, text ? Number(text) : null];
      });
      return { filter: row.getAttribute('data-filter'), ...Object.fromEntries(values) };
    });
  }, COLUMNS);
}

/**
 * @param {Buffer} log
 * @param {string[]} filters
 * @param {string[]} key
 */
function printed(log, filters, key) {
  const memory = ['--memory-bits', `${INITIAL_MEMORY_BITS}`, '--seed', '1'];
  const chosen = filters.flatMap((filter) => ['--filter', filter]);
  const output = run(['simulate', '--json', ...memory, ...key, ...chosen], log);
  return output.toString().trimEnd().split('\n').map((line) => JSON.parse(line));
}

/** The cells of a table, without its head. @param {import('playwright-core').Page} page */
async function rates(page) {
  return page.locator('#weighted-rates tbody tr').evaluateAll((rows) =>
    rows.map((row) => [...row.children].map((cell) => cell.textContent)),
  );
}

/**
 * @param {import('./playground.mjs').Playground} playground
 * @param {string} filter
 */
async function addFilter({ page }, filter) {
  await page.locator('#filter-choice').selectOption(filter);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
}

test('the sample with depths has the weighted errors of the command line', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Crawl with depths');
    await page.locator('#key-preview', { hasText: 'importance 50' }).waitFor();
    await addFilter(playground, 'admit');
    await addFilter(playground, 'ibf');
    await playground.run();
    const found = await shown(page);
    const log = generateSample('Crawl with depths');
    const runs = printed(log, found.map(({ filter }) => filter), DEPTH);
    const expected = runs.map((run) => ({
      filter: run.filter,
      ...Object.fromEntries(COLUMNS.map((column) => [column, run[column]])),
    }));
    assert.deepEqual(found, expected);
    assert.ok(found.some(({ wfn }) => Number(wfn) > 0) && found.some(({ wfp }) => Number(wfp) > 0));
    assert.ok(found.some(({ crossover }) => crossover !== null), JSON.stringify(found));
    const table = await rates(page);
    assert.deepEqual(
      table.map(([importance, count]) => [importance, count]),
      runs[0].importance.map((/** @type {{ from: number, count: number }} */ it) => [
        `${it.from}`,
        it.count.toLocaleString('en-US'),
      ]),
    );
    const chart = page.locator('#weighted-fn-chart [role=img]');
    const label = (await chart.getAttribute('aria-label')) ?? '';
    assert.match(label, /against importance, up to 50/);
  });
});

test('importance in a JSON value, typed in, and forgotten with the next log', async () => {
  const lines = Array.from({ length: 3000 }, (_, i) => {
    const page = (i * i) % 1201;
    return `{"url":"/p/${page}","page":{"rank":${1 + (page % 40)}}}\n`;
  });
  lines.push('{"url":"/p/0"}\n');
  const log = Buffer.from(lines.join(''));
  await visit(async (playground) => {
    const { page } = playground;
    await playground.choose({ name: 'pages.jsonl', mimeType: 'text/plain', buffer: log });
    await playground.examined();
    await page.getByLabel('Which part of a line').selectOption({ label: 'url' });
    await page.getByText('Importance of lines').click();
    await page.getByLabel('Where the importance').selectOption('A JSON path…');
    await page.getByLabel('Path, like page.rank').fill('page.rank');
    await page.getByLabel('Path, like page.rank').press('Tab');
    await page.locator('#key-preview', { hasText: 'importance 1' }).waitFor();
    await playground.setMemory(100, 'B');
    await playground.run();
    const found = await shown(page);
    const key = ['--json-key', 'url', '--importance-json-key', 'page.rank', '--memory-bits', '800'];
    const runs = run(
      ['simulate', '--json', '--seed', '1', ...key, ...found.flatMap(({ filter }) => ['--filter', filter])],
      log,
    );
    const expected = runs.toString().trimEnd().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(found.map(({ wfp }) => wfp), expected.map(({ wfp }) => wfp));
    assert.deepEqual(found.map(({ wfn }) => wfn), expected.map(({ wfn }) => wfn));
    const note = await page.locator('#weighted-note').textContent();
    assert.match(note ?? '', /^1 line without a readable importance/);
    await playground.loadSample('Crawl');
    await playground.run();
    assert.ok(await page.locator('#weighted').isHidden());
  });
});

test('advice weighs by importance, and the commands name it only where it is used', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Crawl with depths');
    await playground.setMemory(1, 'KiB');
    await page.getByRole('button', { name: 'Get advice' }).click();
    await page.locator('#advice-answer').waitFor();
    const log = generateSample('Crawl with depths');
    const advice = advise(log, ['--memory', '1KiB', '--weight-by-importance', ...DEPTH]);
    const answer = (await page.locator('#advice-answer').textContent()) ?? '';
    assert.ok(answer.includes(advice.filter), `${advice.filter}: ${answer}`);
    assert.match(answer, /weighted by importance/);
    await addFilter(playground, 'admit');
    await playground.run();
    const commands = page.locator('#export-commands');
    await page.locator('#export-filter').selectOption({ index: 0 });
    assert.doesNotMatch((await commands.textContent()) ?? '', /--importance-/);
    const options = await page.locator('#export-filter option').allTextContents();
    const admit = options.findIndex((filter) => filter.startsWith('admit'));
    await page.locator('#export-filter').selectOption(`${admit}`);
    const text = (await commands.textContent()) ?? '';
    assert.match(text, /--importance-field 2 --importance-format depth/);
  });
});

test('a link keeps the importance', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Crawl with depths');
    await playground.run();
    await page.getByRole('button', { name: 'Copy a link to these settings' }).click();
    await page.waitForURL(/importance=/);
    await page.reload();
    await page.locator('#key-preview', { hasText: 'importance 50' }).waitFor();
    await playground.run();
    assert.notEqual((await shown(page)).length, 0);
    assert.equal(await page.locator('#importance-format').inputValue(), 'depth');
  });
});

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  for (const width of [1280, 390]) {
    test(`weighted errors: ${colorScheme}, ${width} pixels wide`, async () => {
      await visit(
        async (playground) => {
          const { page } = playground;
          await playground.loadSample('Crawl with depths');
          await page.locator('#importance-format').waitFor();
          await addFilter(playground, 'ibf');
          await addFilter(playground, 'admit');
          await playground.run();
          await shown(page);
          await page.getByText('Errors by importance as a table').click();
          await assertAccessible(page);
          await assertNotWiderThanWindow(page);
          await takeScreenshot(page, `importance-${colorScheme}-${width}`);
        },
        { colorScheme, width },
      );
    });
  }
}
