// The race can be stopped, gone through step by step, and slowed down; theory stands
// beside what is measured.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stage } from './browser.mjs';
import { INITIAL_MEMORY_BITS, SAMPLE_LINES, generated, simulate } from './command-line.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = stage();

/** @param {Playground} playground */
async function shownCount(playground) {
  return (await playground.outcomes())[0]?.count ?? 0;
}

/** @param {Playground} playground */
async function startAndPause(playground) {
  const { page } = playground;
  await playground.loadSample();
  await playground.setSpeed(2000);
  await playground.start();
  await page.locator('#outcomes tbody tr').first().waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await playground.status.filter({ hasText: /^Paused after/ }).waitFor();
}

test('a pause holds the run, a step moves it, and it goes on to the same end', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await startAndPause(playground);
    const held = await shownCount(playground);
    assert.ok(held > 0 && held < SAMPLE_LINES, `${held} lines`);
    await page.waitForTimeout(300);
    assert.equal(await shownCount(playground), held);

    await page.getByRole('button', { name: 'Step' }).click();
    await page.waitForFunction((held) => {
      const cell = document.querySelector('#outcomes [data-column="count"]');
      return Number(cell?.getAttribute('data-value')) >= held + 500;
    }, held);
    const stepped = await shownCount(playground);
    assert.ok(stepped < held + 600, `from ${held} to ${stepped}`);

    await page.getByLabel('Speed').selectOption('0');
    await page.getByRole('button', { name: 'Go on' }).click();
    await playground.finished();
    const shown = await playground.outcomes();
    const log = generated('Crawl');
    const settings = { memoryBits: INITIAL_MEMORY_BITS, seed: 1 };
    const filters = shown.map(({ filter }) => filter);
    assert.deepEqual(shown, simulate(log, filters, settings));
  });
});

test('a paused run can be cancelled and started over', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await startAndPause(playground);
    await page.getByRole('button', { name: 'Cancel' }).click();
    assert.match(await playground.status.innerText(), /^Cancelled after/);
    await playground.setSpeed(0);
    await playground.run();
    assert.equal(await shownCount(playground), SAMPLE_LINES);
  });
});

test('every formula has a name, and bits a key are said', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample();
    await page.getByRole('button', { name: 'Add every filter there is' }).click();
    await playground.run();
    const formulas = await page.locator('#formulas dd').allTextContents();
    assert.equal(formulas.length, await page.locator('#outcomes tbody tr').count());
    assert.ok(formulas.every((text) => text.length > 30), formulas.join('\n'));
    const [row] = await playground.outcomes();
    const bits = INITIAL_MEMORY_BITS / (row?.distinct ?? 0);
    const said = await page.locator('#memory-a-key').innerText();
    assert.ok(said.includes(`${Number(bits.toPrecision(3))} bits a distinct key`), said);
  });
});
