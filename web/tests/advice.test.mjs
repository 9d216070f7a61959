// The page gives the same advice as the command line for the same log, memory and
// requirements, and can run the recommended filters.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { SAMPLE_LINES, advise, generateSample, simulate } from './command-line.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = startBrowser();
const SHOWN = 6;

/** @param {Playground} playground */
async function getAdvice({ page }) {
  await page.getByRole('button', { name: 'Get advice' }).click();
  await page.locator('#advice-answer').waitFor();
}

/** The recommended filter and the runners-up on the page. @param {Playground} playground */
function shownEstimates({ page }) {
  return page.locator('#advice-table tbody tr').evaluateAll((rows) =>
    rows.map((row) => {
      /** @param {string} column */
      const value = (column) =>
        Number(row.querySelector(`[data-column="${column}"]`)?.getAttribute('data-value'));
      return {
        filter: row.getAttribute('data-filter'),
        fpr: value('fpr'),
        fnr: value('fnr'),
        cost: value('cost'),
      };
    }),
  );
}

/**
 * @param {Playground} playground
 * @param {Buffer} log
 * @param {string[]} options
 */
async function assertSameAdvice(playground, log, options) {
  await getAdvice(playground);
  const printed = advise(log, options);
  const rows = [printed.choice, ...printed.runners_up].slice(0, SHOWN);
  const expected = rows.map(({ filter, fpr, fnr, cost }) => ({ filter, fpr, fnr, cost }));
  assert.deepEqual(await shownEstimates(playground), expected);
  const answer = playground.page.locator('#advice-answer');
  const sentence = (await answer.locator('.advice-sentence').innerText()).replaceAll('\u00a0', ' ');
  assert.ok(sentence.startsWith(`Use ${printed.filter} in `), sentence);
  assert.ok(sentence.includes(printed.reason), sentence);
  assert.equal(await answer.getAttribute('data-keeps-bounds'), String(printed.keeps_bounds));
}

test('advice for each preference, with bounds and with costs', async () => {
  const log = generateSample('Access log');
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Access log');
    const field = ['--field', '7'];
    await assertSameAdvice(playground, log, ['--memory', '8KiB', ...field]);
    await page.getByText('Set limits').click();
    for (const prefer of ['no-drops', 'no-repeats']) {
      await page.getByLabel('Which is worse?').selectOption(prefer);
      await assertSameAdvice(playground, log, ['--memory', '8KiB', '--prefer', prefer, ...field]);
    }
    await page.getByLabel('Which is worse?').selectOption('balanced');
    await page.getByLabel('New keys skipped, at most').fill('0.5');
    await page.getByLabel('Cost of a repeat let through').fill('3');
    await playground.setMemory(2, 'KiB');
    const requirements = ['--max-fpr', '0.5%', '--cost-fn', '3'];
    await assertSameAdvice(playground, log, ['--memory', '2KiB', ...requirements, ...field]);
    await page.getByLabel('Repeats let through, at most').fill('0.01');
    await assertSameAdvice(playground, log, ['--memory', '2KiB', ...requirements, '--max-fnr', '0.01%', ...field]);
    assert.equal(await page.locator('#advice-answer').getAttribute('data-keeps-bounds'), 'false');
    // The memory with which the limits are kept, and that much less does not keep them.
    const sentence = (await page.locator('.advice-sentence').innerText()).replaceAll('\u00a0', ' ');
    const [, filter = ''] = /kept in about [\d.]+ KiB, with (\S+?)\.$/.exec(sentence) ?? [];
    const memoryBits = Number(await page.locator('.advice-sentence [data-bits]').getAttribute('data-bits'));
    const rates = (/** @type {number} */ bits) => simulate(log, [filter], { memoryBits: bits, seed: 0, key: field })[0];
    const enough = rates(memoryBits);
    assert.ok((enough?.fpr ?? 1) <= 0.005 && (enough?.fnr ?? 1) <= 0.0001, `${sentence} ${JSON.stringify(enough)}`);
    const less = rates(8 * Math.round((memoryBits * 0.8) / 8));
    assert.ok((less?.fpr ?? 0) > 0.005 || (less?.fnr ?? 0) > 0.0001, JSON.stringify(less));
  });
});

test('the recommended filters can be run, and a link restores the requirements', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Click stream');
    await page.getByLabel('Which part of a line').selectOption({ label: 'click' });
    await page.locator('#key-preview li', { hasText: /^c/ }).first().waitFor();
    await page.getByText('Set limits').click();
    await page.getByLabel('Cost of a skipped new key').fill('2');
    await getAdvice(playground);
    const recommended = (await shownEstimates(playground)).map(({ filter }) => filter);
    await page.getByRole('button', { name: 'Use these filters' }).click();
    // They run, their answer comes into view, and the recommended one is in the commands.
    await page.waitForFunction(
      (count) => document.querySelectorAll('#comparison tbody tr').length === count,
      recommended.length,
    );
    await playground.finished();
    const top = await page.locator('#answer').evaluate((answer) => answer.getBoundingClientRect().top);
    assert.ok(top < 200, `the answer is ${top} pixels down`);
    assert.ok((await page.locator('#export-commands').innerText()).includes(`--filter ${recommended[0]} `));
    await playground.run();
    const run = (await playground.outcomes()).map(({ filter }) => filter);
    assert.deepEqual(run, recommended);
    await page.getByRole('button', { name: 'Copy a link to these settings' }).click();
    await page.locator('#export-status', { hasText: 'Link copied' }).waitFor();
    const link = page.url();
    await page.goto('about:blank');
    await page.goto(link);
    await playground.opened();
    await page.locator('#log-name', { hasText: 'clicks.jsonl' }).waitFor();
    await playground.examined();
    await getAdvice(playground);
    assert.deepEqual((await shownEstimates(playground)).map(({ filter }) => filter), recommended);
  });
});

test('invalid requirements are reported, and a changed setting removes the advice', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const button = page.getByRole('button', { name: 'Get advice' });
    await playground.loadSample();
    await page.getByText('Set limits').click();
    await page.getByLabel('New keys skipped, at most').fill('120');
    await button.click();
    await playground.message.filter({ hasText: 'from 0 to 100' }).waitFor();
    await page.getByLabel('New keys skipped, at most').fill('');
    await page.getByLabel('Cost of a skipped new key').fill('-1');
    await button.click();
    await playground.message.filter({ hasText: 'cost must be' }).waitFor();
    await page.getByLabel('Cost of a skipped new key').fill('1');
    await playground.setMemory(1, 'B');
    await button.click();
    await playground.message.filter({ hasText: /at least \d+ B of memory; 1 B is too little/ }).waitFor();
    await playground.setMemory(4, 'KiB');
    await getAdvice(playground);
    assert.ok(await playground.message.isHidden());
    await playground.setMemory(5, 'KiB');
    await page.locator('#memory-size').blur();
    await page.locator('#advice-answer').waitFor({ state: 'hidden' });
    await playground.run();
    assert.equal((await playground.outcomes())[0]?.count, SAMPLE_LINES);
  });
});
