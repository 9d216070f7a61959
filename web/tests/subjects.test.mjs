// The further subjects have the numbers of `dedupstore simulate`, follow the settings of the page,
// and load only when they are opened.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible, assertNotWiderThanWindow, takeScreenshot } from './appearance-checks.mjs';
import { startBrowser } from './browser.mjs';
import { generateSample, run } from './command-line.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = startBrowser();

/** Opens a subject and waits for its answer. @param {Playground} playground @param {string} name */
async function open({ page }, name) {
  const panel = page.locator(`#subject-${name}`);
  await panel.locator('summary').first().click();
  await panel.locator('.subject-output[aria-busy="false"] table').first().waitFor();
  return panel;
}

/** Waits until a changed control or setting is in the answer. @param {import('playwright-core').Locator} panel @param {string | RegExp} text */
async function answered(panel, text) {
  await panel.locator('.subject-answer', { hasText: text }).waitFor();
  await panel.locator('.subject-output[aria-busy="false"]').waitFor({ state: 'attached' });
}

/**
 * The exact numbers of a table's rows.
 *
 * @param {import('playwright-core').Locator} panel
 * @param {number} index of the table
 * @returns {Promise<Record<string, string | number | null>[]>}
 */
function rowsOf(panel, index) {
  return panel.locator('table').nth(index).locator('tbody tr').evaluateAll((rows) =>
    rows.map((row) => ({
      id: row.getAttribute('data-row'),
      ...Object.fromEntries(
        [...row.querySelectorAll('td')].map(({ dataset: { column, value } }) => [
          column ?? '',
          value ? Number(value) : null,
        ]),
      ),
    })),
  );
}

/** @param {Buffer} log @param {string[]} options @returns {Record<string, *>[]} */
function printed(log, options) {
  const output = run(['simulate', '--json', '--memory', '8KiB', '--seed', '1', ...options], log);
  return output.toString().trimEnd().split('\n').map((line) => JSON.parse(line));
}

/** The same columns of printed rows. @param {Record<string, *>[]} rows @param {string} id @param {string[]} columns */
function columnsOf(rows, id, columns) {
  return rows.map((row) => ({
    id: row[id],
    ...Object.fromEntries(columns.map((column) => [column, row[column]])),
  }));
}

test('windows: a log without times names a sample that has them', async () => {
  await visit(async ({ page }) => {
    const panel = page.locator('#subject-windows');
    await panel.locator('summary').first().click();
    await answered(panel, 'The lines of this log have no time');
    await panel.getByRole('button', { name: 'Show it on the sample “Access log”' }).click();
    await panel.locator('table').first().waitFor();
    await answered(panel, /^In this log of 4 h .*, a window of 7 d forgets nothing/);
    assert.equal(await panel.locator('tr.best').count(), 1);
  });
});

test('windows: what is forgotten, and the errors of all filters with a window', async () => {
  const log = generateSample('Access log');
  const key = ['--field', '7'];
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Access log');
    const panel = await open(playground, 'windows');
    await panel.getByLabel('Remember a key for').fill('2');
    await panel.getByLabel('Unit').selectOption('hours');
    await answered(panel, 'a window of 2 h forgets');
    const columns = ['fp', 'fpr', 'fn', 'fnr'];
    const byName = (/** @type {*} */ a, /** @type {*} */ b) => `${a.id}`.localeCompare(`${b.id}`);
    const shown = (await rowsOf(panel, 1)).map(({ error, ...row }) => row).sort(byName);
    const rows = printed(log, ['--window', '2h', ...key]);
    assert.deepEqual(shown, columnsOf(rows, 'filter', columns).sort(byName));
    assert.ok(rows.length >= 4 && rows.some(({ fp }) => fp > 0), JSON.stringify(rows));
    // A filter of steps of a second that makes no mistake delivers what an exact window delivers.
    const exact = ['--filter', 'window:step=1', '--memory', '1MiB', ...key];
    const [distinct] = printed(log, ['--filter', 'bloom', ...key]);
    const spans = await rowsOf(panel, 0);
    assert.ok(spans.length >= 3, JSON.stringify(spans));
    for (const { id, again } of spans) {
      const [, window] = printed(log, ['--window', `${id}s`, ...exact]);
      assert.equal(window?.fp, 0);
      assert.equal(again, window?.distinct - distinct?.distinct, `a window of ${id} seconds`);
    }
    assert.ok(spans.some(({ again }) => Number(again) > 0));
    const command = await panel.locator('pre code').textContent();
    assert.match(command ?? '', /dedupstore simulate access\.log --field 7 --window 2h --memory 8KiB --seed 1$/);
    // The panel follows the settings of the page.
    await playground.setMemory(16, 'KiB');
    await panel.locator('.hint', { hasText: /16\sKiB per filter/ }).waitFor();
    await playground.loadSample('Crawl');
    await answered(panel, 'The lines of this log have no time');
    assert.equal(await panel.locator('table').count(), 0);
    assert.ok(await page.locator('#comparison').isVisible());
  });
});

test('many machines: slices and failures', async () => {
  const log = generateSample('Crawl');
  await visit(async (playground) => {
    const panel = await open(playground, 'machines');
    const columns = ['fpr', 'predicted_fpr', 'fnr', 'predicted_fnr', 'unknown', 'messages_test', 'messages_set', 'hottest'];
    /** @param {number} machines @param {string[]} ways @param {string[]} options */
    const compare = async (machines, ways, options) => {
      const slices = ways.flatMap((way) => ['--slices', way]);
      const rows = printed(log, ['--filter', 'bloom:k=4', ...slices, ...options]);
      assert.deepEqual(await rowsOf(panel, 0), columnsOf(rows, 'slices', columns), `${machines}`);
      return rows;
    };
    const eight = ['horizontal:8', 'vertical:8', 'diced:4x2'];
    const failed = await compare(8, eight, ['--failed', '1']);
    // The keys of the machine that failed are all skipped.
    assert.ok(failed[0]?.fpr > 0.1, JSON.stringify(failed));
    await panel.getByLabel('A bit on a failed machine').selectOption('new');
    await answered(panel, /lets [1-9][\d.]*\s% of repeats through/);
    await compare(8, eight, ['--failed', '1', '--rule', 'new']);
    await panel.getByLabel('A bit on a failed machine').selectOption('unknown');
    await panel.getByLabel('Of these, failed').fill('2');
    await panel.getByLabel('Machines', { exact: true }).fill('5');
    await answered(panel, 'With 2 of 5 machines down');
    const rows = await compare(5, ['horizontal:5', 'vertical:5'], ['--failed', '2', '--rule', 'unknown']);
    assert.ok(rows.every(({ unknown }) => unknown > 0));
    await panel.getByLabel('Of these, failed').fill('6');
    await answered(panel, 'No more machines can have failed than there are.');
  });
});

test('trees: random producers, and producers named by the line', async () => {
  const columns = ['fpr', 'fnr', 'differs_from_single', 'messages_remote'];
  await visit(async (playground) => {
    const panel = await open(playground, 'trees');
    /** @param {Buffer} log @param {string[]} trees @param {string[]} options */
    const compare = async (log, trees, options) => {
      const rows = printed(log, [...trees.flatMap((tree) => ['--tree', tree]), ...options]);
      assert.deepEqual(await rowsOf(panel, 0), columnsOf(rows, 'tree', columns));
      for (const [index, { tree, levels }] of rows.entries()) {
        const expected = levels.map((/** @type {*} */ { level, nodes, accesses, hits }) => ({
          id: `${tree} ${level}`, nodes, accesses, hits,
        }));
        assert.deepEqual(await rowsOf(panel, 1 + index), expected);
      }
    };
    await compare(generateSample('Crawl'), ['dense:levels=3,fanout=4', 'sparse:levels=3,fanout=4'], []);
    await playground.loadSample('Access log');
    await panel.getByLabel('The site of a line is').selectOption('field');
    await panel.getByLabel('Levels', { exact: true }).fill('2');
    await answered(panel, 'With 5 nodes');
    const trees = ['dense:levels=2,fanout=4', 'sparse:levels=2,fanout=4'];
    await compare(generateSample('Access log'), trees, ['--field', '7', '--producer-field', '1']);
    await panel.getByLabel('Branches per node').fill('64');
    await panel.getByLabel('Levels', { exact: true }).fill('4');
    await answered(panel, /the page runs at most 5,000/);
  });
});

test('growth: the rates and the memory while a reserve fills', async () => {
  const log = generateSample('Crawl');
  await visit(async (playground) => {
    const panel = await open(playground, 'growth');
    const points = await rowsOf(panel, 0);
    const end = points.at(-1);
    const [growing, large] = printed(log, ['--filter', 'growing:fpr=0.001,part=32768', '--filter', 'bloom', '--memory', '32KiB']).slice(2);
    const [small] = printed(log, ['--filter', 'bloom']);
    assert.equal(end?.id, `${growing?.count}`);
    assert.deepEqual(
      [end?.distinct, end?.growing_fpr, end?.small_fpr, end?.large_fpr],
      [growing?.distinct, growing?.fpr, small?.fpr, large?.fpr],
    );
    const used = points.map(({ used_bytes }) => Number(used_bytes));
    assert.ok((used[0] ?? 0) < (used.at(-1) ?? 0), `it grows: ${used}`);
    assert.ok(used.every((bytes, index) => bytes >= (used[index - 1] ?? 1) && bytes <= 32 << 10), `${used}`);
    // The first point: the same as a log that ends there.
    const head = Buffer.from(log.toString().split('\n').slice(0, 512).join('\n') + '\n');
    const [first] = printed(head, ['--filter', 'growing:fpr=0.001,part=32768', '--memory', '32KiB']).slice(1);
    assert.deepEqual([points[0]?.distinct, points[0]?.growing_fpr], [first?.distinct, first?.fpr]);
    await panel.getByLabel('New keys skipped, at most').selectOption('0.01');
    await panel.locator('.spec', { hasText: 'growing:fpr=0.01,' }).waitFor();
    const [loose] = printed(log, ['--filter', 'growing:fpr=0.01,part=32768', '--memory', '32KiB']).slice(1);
    assert.equal((await rowsOf(panel, 0)).at(-1)?.growing_fpr, loose?.fpr);
  });
});

test('importance: the sample with depths shows weighted errors', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await page.locator('#subject-importance summary').click();
    await page.getByRole('button', { name: 'Show it on the sample with depths' }).click();
    await page.locator('#weighted-outcomes tbody tr').first().waitFor();
  });
});

for (const [colorScheme, width] of /** @type {const} */ ([
  ['light', 1280],
  ['dark', 1280],
  ['light', 390],
  ['dark', 390],
])) {
  test(`the appearance of the subjects: ${colorScheme}, ${width} pixels wide`, async () => {
    await visit(
      async (playground) => {
        const { page } = playground;
        await playground.loadSample('Access log');
        for (const name of ['windows', 'machines', 'trees', 'growth']) {
          await open(playground, name);
        }
        await page.locator('#subject-importance summary').click();
        await assertAccessible(page);
        await assertNotWiderThanWindow(page);
        await takeScreenshot(page, `subjects-${colorScheme}-${width}`, '#subjects');
      },
      { colorScheme, width },
    );
  });
}
