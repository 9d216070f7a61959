// "Look inside": the filter fills and steps, and shows the cells of a key and the reasons of
// mistakes, with the numbers of the command line.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { SAMPLE_LINES, explainKey, generateSample, simulate } from './command-line.mjs';
import { choose, play, runAllFilters } from './look-inside.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = startBrowser();
const MEMORY_BITS = 256 * 8;

/** @param {Playground} playground */
async function position({ page }) {
  const text = await page.locator('#inside-summary').innerText();
  return Number(/^Line ([\d,]+),/.exec(text)?.[1]?.replaceAll(',', ''));
}

/** @param {Playground} playground @param {number} line */
async function stepTo(playground, line) {
  const { page } = playground;
  for (let at = await position(playground); at < line; at += 1) {
    await page.getByRole('button', { name: 'Next line' }).click();
    await page.locator('#inside-summary', { hasText: `Line ${at + 1},` }).waitFor();
  }
}

/** The cells in the table. @param {Playground} playground */
async function cells({ page }) {
  const rows = await page.locator('#inside-table td code').allTextContents();
  return rows.flatMap((row) => (row.includes(' ') ? row.split(' ') : [...row]));
}

/** The first keys of the log. @param {number} count */
function firstKeys(count) {
  return generateSample('Crawl').toString().split('\n').slice(0, count);
}

test('filters of every kind fill line by line', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await runAllFilters(playground);
    for (const name of ['bloom', 'stable', 'counting', 'word', 'slot', 'sqf', 'buffer']) {
      await choose(playground, name);
      if (!(await page.locator('#inside-table').isVisible())) {
        await page.getByText('The cells as a table').click();
      }
      // The table is filled a moment after the click.
      await page.locator('#inside-table td code').first().waitFor();
      const before = await cells(playground);
      assert.ok(before.length > 0 && before.every((cell) => /^0+$/.test(cell)), name);
      await stepTo(playground, 3);
      assert.equal(await position(playground), 3);
      const inUse = (await cells(playground)).filter((cell) => !/^0+$/.test(cell));
      assert.ok(inUse.length > 0 && inUse.length <= 12, `${name}: ${inUse.length}`);
      const label = await page.locator('#inside-cells').getAttribute('aria-label');
      assert.match(label ?? '', /in use after 3 lines/);
      const keys = await page.locator('#inside-recent button').allTextContents();
      assert.deepEqual(keys, firstKeys(3).reverse(), name);
    }
  });
});

test('a selected key has the same cells and verdict as in the command line', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await runAllFilters(playground);
    for (const name of ['blocked', 'aging', 'slot', 'recent', 'sqf', 'buffer']) {
      const filter = await choose(playground, name);
      await stepTo(playground, 8);
      const key = page.locator('#inside-recent button').nth(3);
      await key.click();
      await page.locator('#inside-selected').waitFor();
      assert.equal(await key.getAttribute('aria-pressed'), 'true');
      const selected = (await key.textContent()) ?? '';
      const explained = explainKey(firstKeys(8), selected, { filter, memoryBits: MEMORY_BITS, seed: 1 });
      assert.equal(await page.locator('#inside-selected-key').innerText(), selected);
      const text = await page.locator('#inside-selected-verdict').innerText();
      assert.ok(text.endsWith(`would be ${explained.verdict}: ${explained.because}.`), `${name}: ${text}`);
      const rows = await page.locator('#inside-selected-table tbody tr').evaluateAll((rows) =>
        rows.map((row) => ({
          index: Number(row.getAttribute('data-cell')),
          value: row.querySelector('td')?.textContent ?? '',
        })),
      );
      const cells = explained.places.map(({ index, value }) => ({
        index,
        value: name === 'buffer' ? value.toString(16).padStart(16, '0') : String(value),
      }));
      /** @param {{ index: number }} a @param {{ index: number }} b */
      const byIndex = (a, b) => a.index - b.index;
      if (name === 'buffer') {
        // A JavaScript number cannot hold a whole fingerprint.
        assert.deepEqual(rows.map(({ index }) => index), cells.map(({ index }) => index));
      } else {
        assert.deepEqual(rows.toSorted(byIndex), cells.toSorted(byIndex), name);
      }
      await page.getByRole('button', { name: 'Clear selection' }).click();
      await page.locator('#inside-selected').waitFor({ state: 'hidden' });
    }
  });
});

test('mistakes are listed with reasons, and counted as by the command line', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await runAllFilters(playground);
    const log = generateSample('Crawl');
    for (const name of ['bloom', 'stable', 'recent', 'buffer']) {
      const filter = await choose(playground, name);
      await play(playground, '0');
      await page.locator('#inside-status', { hasText: 'End of the log.' }).waitFor();
      assert.equal(await position(playground), SAMPLE_LINES);
      const [counted] = simulate(log, [filter], { memoryBits: MEMORY_BITS, seed: 1 });
      for (const [id, count] of /** @type {const} */ ([
        ['fp', counted?.fp],
        ['fn', counted?.fn],
      ])) {
        const caption = await page.locator(`#inside-${id}-caption`).innerText();
        const shown = Number(/: ([\d,]+)/.exec(caption)?.[1]?.replaceAll(',', ''));
        assert.equal(shown, count, `${name}: ${caption}`);
        const reasons = await page.locator(`#inside-${id}-rows .inside-reason p`).allTextContents();
        assert.equal(reasons.length, Math.min(shown, 100), name);
        assert.ok(reasons.every((reason) => reason.length > 20), reasons.join('\n'));
        assert.equal(caption.includes('the latest 100'), shown > 100, caption);
      }
    }
    await page.locator('#inside-fn-rows button').first().click();
    await page.locator('#inside-selected').waitFor();
  });
});

test('a click on a key counts although the list moves during it', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await runAllFilters(playground);
    await choose(playground, 'bloom');
    await stepTo(playground, 3);
    const button = page.locator('#inside-recent button').first();
    const pressed = (await button.textContent()) ?? '';
    await button.hover();
    await page.mouse.down();
    await page.locator('#inside-step').evaluate((step) => step instanceof HTMLElement && step.click());
    await page.locator('#inside-summary', { hasText: 'Line 4,' }).waitFor();
    assert.notEqual(await button.textContent(), pressed);
    await page.mouse.up();
    await page.locator('#inside-selected-key', { hasText: pressed }).waitFor();
  });
});

test('a key that is selected while a filter starts over stays selected', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await runAllFilters(playground);
    await choose(playground, 'bloom');
    await stepTo(playground, 2);
    const key = (await page.locator('#inside-recent button').first().textContent()) ?? '';
    await page.evaluate(() => {
      for (const id of ['#inside-restart', '#inside-recent button']) {
        const button = document.querySelector(id);
        if (button instanceof HTMLElement) {
          button.click();
        }
      }
    });
    await page.locator('#inside-selected-key', { hasText: key }).waitFor();
    assert.equal(await position(playground), 0);
  });
});

test('playing can be paused, stepped, and started over', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample();
    await playground.run();
    await play(playground, '200');
    await page.locator('#inside-summary', { hasText: /Line [1-9]/ }).waitFor();
    const toggle = page.locator('#inside-play');
    assert.equal(await toggle.innerText(), 'Pause');
    await toggle.click();
    assert.equal(await toggle.innerText(), 'Play');
    await page.waitForTimeout(200);
    const paused = await position(playground);
    assert.ok(paused > 0 && paused < SAMPLE_LINES, `${paused}`);
    await page.waitForTimeout(300);
    assert.equal(await position(playground), paused);
    await stepTo(playground, paused + 1);
    await page.getByRole('button', { name: 'Start over' }).click();
    await page.locator('#inside-summary', { hasText: 'Line 0,' }).waitFor();
    await page.getByLabel('Memory of the small filter').selectOption('64');
    await page.locator('#inside-summary', { hasText: 'of 512 bits' }).waitFor();
    const box = page.locator('#inside-cells');
    await stepTo(playground, 1);
    await box.hover({ position: { x: 8, y: 8 } });
    await page.locator('#inside-cell-text', { hasText: /^bit 0 holds [01]/ }).waitFor();
  });
});

test('a failed run leaves the filter that is shown', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Click stream');
    await page.getByRole('button', { name: 'Next line' }).click();
    const summary = page.locator('#inside-summary', { hasText: 'Line 1,' });
    await summary.waitFor();
    await page.getByLabel('Which part of a line').selectOption({ label: 'A JSON path…' });
    await page.locator('#key-text').fill('nowhere');
    await playground.start();
    await playground.message.filter({ hasText: /No line of clicks\.jsonl has this key/ }).waitFor();
    await playground.assertOutdated();
    assert.ok(await summary.isVisible());
    await page.getByRole('button', { name: 'Next line' }).click();
    await page.locator('#inside-summary', { hasText: 'Line 2,' }).waitFor();
  });
});

test('the keyboard reaches all controls', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample();
    await playground.run();
    await page.locator('#inside-filter').focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'inside-step');
    await page.keyboard.press('Enter');
    await page.locator('#inside-summary', { hasText: 'Line 1,' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'inside-cells');
    await page.keyboard.press('Tab');
    assert.ok(await page.locator('#inside-recent button').first().evaluate((it) => it === document.activeElement));
    await page.keyboard.press('Space');
    await page.locator('#inside-selected').waitFor();
    assert.ok(await page.locator('#inside-recent button').first().evaluate((it) => it === document.activeElement));
  });
});

test('every filter has a drawing and three explanations', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.addAllFilters();
    const cards = page.locator('.filter-card');
    for (const card of await cards.all()) {
      assert.equal(await card.locator('.filter-drawing').isVisible(), false);
      await card.locator('.explanation summary').click();
      assert.ok(await card.locator('.filter-drawing').isVisible());
      assert.ok((await card.locator('.drawing-cell.added').count()) > 0);
      assert.ok((await card.locator('figcaption').innerText()).length > 30);
      assert.equal(await card.locator('.facts dd').count(), 3);
    }
  });
});
