// Advice is that of the command line for the same log, memory and wishes, and its filters
// can be raced at a click.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stage } from './browser.mjs';
import { SAMPLE_LINES, advise, generated } from './command-line.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = stage();
const SHOWN = 6;

/** @param {Playground} playground */
async function ask({ page }) {
  await page.getByRole('button', { name: 'Ask for advice' }).click();
  await page.locator('#advice-answer').waitFor();
}

/** The choice and the runners-up as shown. @param {Playground} playground */
function shown({ page }) {
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
async function assertAdvisedAs(playground, log, options) {
  await ask(playground);
  const printed = advise(log, options);
  const rows = [printed.choice, ...printed.runners_up].slice(0, SHOWN);
  const expected = rows.map(({ filter, fpr, fnr, cost }) => ({ filter, fpr, fnr, cost }));
  assert.deepEqual(await shown(playground), expected);
  const answer = playground.page.locator('#advice-answer');
  const sentence = (await answer.locator('.advice-sentence').innerText()).replaceAll('\u00a0', ' ');
  assert.ok(sentence.startsWith(`Take ${printed.filter} in `), sentence);
  assert.ok(sentence.includes(printed.reason), sentence);
  assert.equal(await answer.getAttribute('data-keeps-bounds'), String(printed.keeps_bounds));
}

test('for each preference, with bounds and with costs', async () => {
  const log = generated('Access log');
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Access log');
    const field = ['--field', '7'];
    await assertAdvisedAs(playground, log, ['--memory', '8KiB', ...field]);
    await page.getByText('What can you bear?').click();
    for (const prefer of ['no-drops', 'no-repeats']) {
      await page.getByLabel('Which is worse?').selectOption(prefer);
      await assertAdvisedAs(playground, log, ['--memory', '8KiB', '--prefer', prefer, ...field]);
    }
    await page.getByLabel('Which is worse?').selectOption('balanced');
    await page.getByLabel('New keys dropped, at most').fill('0.5');
    await page.getByLabel('A repeat let through costs').fill('3');
    await playground.setMemory(2, 'KiB');
    const wishes = ['--max-fpr', '0.5%', '--cost-fn', '3'];
    await assertAdvisedAs(playground, log, ['--memory', '2KiB', ...wishes, ...field]);
    await page.getByLabel('Repeats let through, at most').fill('0.01');
    await assertAdvisedAs(playground, log, ['--memory', '2KiB', ...wishes, '--max-fnr', '0.01%', ...field]);
    assert.equal(await page.locator('#advice-answer').getAttribute('data-keeps-bounds'), 'false');
  });
});

test('its filters are put in the race, and a link keeps what was wished for', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Click stream');
    await page.getByLabel('Which part of a line').selectOption({ label: 'click' });
    await page.locator('#key-preview li', { hasText: /^c/ }).first().waitFor();
    await page.getByText('What can you bear?').click();
    await page.getByLabel('A dropped new key costs').fill('2');
    await ask(playground);
    const advised = (await shown(playground)).map(({ filter }) => filter);
    await page.getByRole('button', { name: 'Use these filters' }).click();
    await playground.run();
    const raced = (await playground.outcomes()).map(({ filter }) => filter);
    assert.deepEqual(raced, advised);
    await page.getByRole('button', { name: 'Copy a link to this setting' }).click();
    await page.locator('#take-said', { hasText: 'The link' }).waitFor();
    const link = page.url();
    await page.goto('about:blank');
    await page.goto(link);
    await playground.ready();
    await page.locator('#log-name', { hasText: 'clicks.jsonl' }).waitFor();
    await playground.examined();
    await ask(playground);
    assert.deepEqual((await shown(playground)).map(({ filter }) => filter), advised);
  });
});

test('what cannot be meant is said, and an answer goes when the question changes', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const button = page.getByRole('button', { name: 'Ask for advice' });
    await button.click();
    await playground.message.filter({ hasText: 'There is no log' }).waitFor();
    await playground.loadSample();
    await page.getByText('What can you bear?').click();
    await page.getByLabel('New keys dropped, at most').fill('120');
    await button.click();
    await playground.message.filter({ hasText: 'from 0 to 100' }).waitFor();
    await page.getByLabel('New keys dropped, at most').fill('');
    await page.getByLabel('A dropped new key costs').fill('-1');
    await button.click();
    await playground.message.filter({ hasText: 'cost must be' }).waitFor();
    await page.getByLabel('A dropped new key costs').fill('1');
    await playground.setMemory(1, 'B');
    await button.click();
    await playground.message.filter({ hasText: /at least \d+ bits/ }).waitFor();
    await playground.setMemory(4, 'KiB');
    await ask(playground);
    assert.ok(await playground.message.isHidden());
    await playground.setMemory(5, 'KiB');
    await page.locator('#memory-size').blur();
    await page.locator('#advice-answer').waitFor({ state: 'hidden' });
    await playground.run();
    assert.equal((await playground.outcomes())[0]?.count, SAMPLE_LINES);
  });
});
