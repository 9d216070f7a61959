// A filter that is looked into: it fills, steps, shows a key's cells and says why it errs,
// with the command line's numbers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stage } from './browser.mjs';
import { SAMPLE_LINES, explainKey, generated, simulate } from './command-line.mjs';
import { assertAccessible, assertNotWiderThanWindow, takePicture } from './looks.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = stage();
const MEMORY_BITS = 256 * 8;

/** @param {Playground} playground */
async function offered(playground) {
  await playground.loadSample();
  await playground.page.getByRole('button', { name: 'Add every filter there is' }).click();
  await playground.run();
}

/** @param {Playground} playground @param {string} name */
async function choose({ page }, name) {
  const filters = await page.locator('#inside-filter option').allTextContents();
  const filter = filters.find((filter) => filter.startsWith(`${name}:`)) ?? '';
  await page.getByLabel('What to look into').selectOption(filter);
  await page.locator('#inside-counted', { hasText: 'Line 0,' }).waitFor();
  return filter;
}

/** @param {Playground} playground */
async function position({ page }) {
  const text = await page.locator('#inside-counted').innerText();
  return Number(/^Line ([\d,]+),/.exec(text)?.[1]?.replaceAll(',', ''));
}

/** @param {Playground} playground @param {number} line */
async function stepTo(playground, line) {
  const { page } = playground;
  for (let at = await position(playground); at < line; at += 1) {
    await page.getByRole('button', { name: 'Next line' }).click();
    await page.locator('#inside-counted', { hasText: `Line ${at + 1},` }).waitFor();
  }
}

/** @param {Playground} playground @param {string} speed lines a second; 0 is as fast as can be */
async function play({ page }, speed) {
  await page.getByLabel('Lines a second').selectOption(speed);
  await page.getByRole('button', { name: 'Play' }).click();
}

/** The cells as the table has them. @param {Playground} playground */
async function cells({ page }) {
  const rows = await page.locator('#inside-twin-table td code').allTextContents();
  return rows.flatMap((row) => (row.includes(' ') ? row.split(' ') : [...row]));
}

/** What the keys that came so far are. @param {number} count */
function firstKeys(count) {
  return generated('Crawl').toString().split('\n').slice(0, count);
}

test('filters of every kind fill as lines come, one by one', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await offered(playground);
    for (const name of ['bloom', 'stable', 'counting', 'word', 'slot', 'sqf', 'buffer']) {
      await choose(playground, name);
      if (!(await page.locator('#inside-twin-table').isVisible())) {
        await page.getByText('The cells as a table').click();
      }
      // It is filled when it is opened, a moment after the click.
      await page.locator('#inside-twin-table td code').first().waitFor();
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

test('a chosen key has the cells that the command line names', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await offered(playground);
    for (const name of ['blocked', 'aging', 'slot', 'recent', 'dsqf', 'buffer']) {
      const filter = await choose(playground, name);
      await stepTo(playground, 8);
      const key = page.locator('#inside-recent button').nth(3);
      await key.click();
      await page.locator('#inside-picked').waitFor();
      assert.equal(await key.getAttribute('aria-pressed'), 'true');
      const chosen = (await key.textContent()) ?? '';
      const named = explainKey(firstKeys(8), chosen, { filter, memoryBits: MEMORY_BITS, seed: 1 });
      assert.equal(await page.locator('#inside-picked-key').innerText(), chosen);
      const said = await page.locator('#inside-picked-said').innerText();
      assert.ok(said.endsWith(`called ${named.verdict}: ${named.because}.`), `${name}: ${said}`);
      const rows = await page.locator('#inside-picked-table tbody tr').evaluateAll((rows) =>
        rows.map((row) => ({
          index: Number(row.getAttribute('data-cell')),
          value: row.querySelector('td')?.textContent ?? '',
        })),
      );
      const cells = named.places.map(({ index, value }) => ({
        index,
        value: name === 'buffer' ? value.toString(16).padStart(16, '0') : String(value),
      }));
      /** @param {{ index: number }} a @param {{ index: number }} b */
      const byIndex = (a, b) => a.index - b.index;
      if (name === 'buffer') {
        // A whole fingerprint is more than a number of this language holds.
        assert.deepEqual(rows.map(({ index }) => index), cells.map(({ index }) => index));
      } else {
        assert.deepEqual(rows.toSorted(byIndex), cells.toSorted(byIndex), name);
      }
      await page.getByRole('button', { name: 'Let go' }).click();
      await page.locator('#inside-picked').waitFor({ state: 'hidden' });
    }
  });
});

test('mistakes are listed with reasons, as many as the command line counts', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await offered(playground);
    const log = generated('Crawl');
    for (const name of ['bloom', 'stable', 'recent', 'buffer']) {
      const filter = await choose(playground, name);
      await play(playground, '0');
      await page.locator('#inside-status', { hasText: 'That was the whole log.' }).waitFor();
      assert.equal(await position(playground), SAMPLE_LINES);
      const [counted] = simulate(log, [filter], { memoryBits: MEMORY_BITS, seed: 1 });
      for (const [id, count] of /** @type {const} */ ([
        ['dropped', counted?.fp],
        ['missed', counted?.fn],
      ])) {
        const caption = await page.locator(`#inside-${id}-caption`).innerText();
        const said = Number(/: ([\d,]+)/.exec(caption)?.[1]?.replaceAll(',', ''));
        assert.equal(said, count, `${name}: ${caption}`);
        const reasons = await page.locator(`#inside-${id}-rows .inside-reason p`).allTextContents();
        assert.equal(reasons.length, Math.min(said, 100), name);
        assert.ok(reasons.every((reason) => reason.length > 20), reasons.join('\n'));
        assert.equal(caption.includes('the latest 100'), said > 100, caption);
      }
    }
    await page.locator('#inside-missed-rows button').first().click();
    await page.locator('#inside-picked').waitFor();
  });
});

test('a play can be paused, gone on with, and started over', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample();
    await playground.run();
    await play(playground, '200');
    await page.locator('#inside-counted', { hasText: /Line [1-9]/ }).waitFor();
    const toggle = page.locator('#inside-play');
    assert.equal(await toggle.innerText(), 'Pause');
    await toggle.click();
    assert.equal(await toggle.innerText(), 'Play');
    await page.waitForTimeout(200);
    const held = await position(playground);
    assert.ok(held > 0 && held < SAMPLE_LINES, `${held}`);
    await page.waitForTimeout(300);
    assert.equal(await position(playground), held);
    await stepTo(playground, held + 1);
    await page.getByRole('button', { name: 'Start over' }).click();
    await page.locator('#inside-counted', { hasText: 'Line 0,' }).waitFor();
    await page.getByLabel('Its memory').selectOption('64');
    await page.locator('#inside-counted', { hasText: 'Of 512 bits' }).waitFor();
    const box = page.locator('#inside-cells');
    await stepTo(playground, 1);
    await box.hover({ position: { x: 8, y: 8 } });
    await page.locator('#inside-said', { hasText: /^bit 0 holds [01]/ }).waitFor();
  });
});

test('the keyboard reaches it all', async () => {
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
    await page.locator('#inside-counted', { hasText: 'Line 1,' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'inside-cells');
    await page.keyboard.press('Tab');
    assert.ok(await page.locator('#inside-recent button').first().evaluate((it) => it === document.activeElement));
    await page.keyboard.press('Space');
    await page.locator('#inside-picked').waitFor();
    assert.ok(await page.locator('#inside-recent button').first().evaluate((it) => it === document.activeElement));
  });
});

test('every filter is explained by a drawing and three sentences', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await page.getByRole('button', { name: 'Add every filter there is' }).click();
    const cards = page.locator('.filter-card');
    for (const card of await cards.all()) {
      assert.equal(await card.locator('.filter-drawing').isVisible(), false);
      await card.locator('.explanation summary').click();
      assert.ok(await card.locator('.filter-drawing').isVisible());
      assert.ok((await card.locator('.drawing-cell.came').count()) > 0);
      assert.ok((await card.locator('figcaption').innerText()).length > 30);
      assert.equal(await card.locator('.facts dd').count(), 3);
    }
  });
});

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  for (const width of [1280, 390]) {
    test(`${colorScheme}, ${width} pixels wide`, async () => {
      await visit(
        async (playground) => {
          const { page } = playground;
          await offered(playground);
          // Who wants less to move sees one view a second, and mistakes as late.
          await page.emulateMedia({ reducedMotion: 'no-preference' });
          for (const name of ['blocked', 'word', 'stable']) {
            await choose(playground, name);
            await play(playground, '2000');
            await page.locator('#inside-missed-rows tr').first().waitFor();
            await page.locator('#inside-play').click();
            await page.getByRole('button', { name: 'Next line' }).click();
            await page.locator('#inside-recent button').nth(1).click();
            await page.locator('#inside-picked').waitFor();
            await assertNotWiderThanWindow(page);
            await takePicture(page, `inside-${name}-${colorScheme}-${width}`, '#inside');
          }
          await page.locator('details').evaluateAll((all) => {
            all.forEach((details) => details.setAttribute('open', ''));
          });
          await assertAccessible(page);
          await assertNotWiderThanWindow(page);
          await takePicture(page, `explanations-${colorScheme}-${width}`, '#filter-list');
        },
        { colorScheme, width },
      );
    });
  }
}
