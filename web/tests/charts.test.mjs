// The charts: cumulative at first, a square-root scale where lines crowd, and names for people.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBrowser } from './browser.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = startBrowser();

/**
 * The heights of the ticks in a saved picture, as shares of the axis, beside their values.
 *
 * @param {Playground} playground
 */
async function ticks(playground) {
  const svg = (await playground.download('Save as SVG: Wrong answers so far')).toString();
  const found = [...svg.matchAll(/y="([\d.]+)" text-anchor="end">([\d.]+)\s%</g)];
  const pairs = found.map(([, y, value]) => ({ y: Number(y), value: Number(value) }));
  const [zero, top] = [pairs[0], pairs.at(-1)];
  assert.ok(zero !== undefined && top !== undefined && zero.value === 0 && pairs.length >= 3, svg.slice(0, 500));
  // Round numbers: 1, 2 or 5 and zeros, or a multiple of such a step.
  const step = pairs[1]?.value ?? 1;
  const isRound = (/** @type {number} */ value) =>
    /^[125]$/.test(`${value}`.replace(/[0.]/g, '')) || Math.abs(value / step - Math.round(value / step)) < 1e-9;
  assert.ok(/^[125]$/.test(`${step}`.replace(/[0.]/g, '')) && pairs.every(({ value }) => isRound(value)), JSON.stringify(pairs));
  return pairs.slice(1).map(({ y, value }) => ({
    height: (zero.y - y) / (zero.y - top.y),
    share: value / top.value,
  }));
}

test('the scale is a square root where lines crowd, and can be chosen', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const near = (/** @type {number} */ a, /** @type {number} */ b) => Math.abs(a - b) < 0.01;
    // The stable filter makes 12 % errors, the others less than 2 %.
    for (const { height, share } of await ticks(playground)) {
      assert.ok(near(height, Math.sqrt(share)), `${height} for ${share}`);
    }
    await page.getByLabel('Scale').selectOption('linear');
    for (const { height, share } of await ticks(playground)) {
      assert.ok(near(height, share), `${height} for ${share}`);
    }
    // Without it the lines do not crowd.
    await page.getByLabel('Scale').selectOption('automatic');
    await page.getByRole('button', { name: 'Remove stable' }).click();
    await playground.finished();
    for (const name of ['Remove bloom', 'Remove blocked']) {
      await page.getByRole('button', { name }).click();
      await playground.finished();
    }
    for (const { height, share } of await ticks(playground)) {
      assert.ok(near(height, share), `${height} for ${share}`);
    }
  });
});

test('every chart can be saved as soon as it is drawn', async () => {
  await visit(async ({ page }) => {
    for (const name of ['Wrong answers so far', 'New keys skipped', 'Repeats let through', 'Memory in use']) {
      for (const format of ['SVG', 'PNG']) {
        const box = await page.getByRole('button', { name: `Save as ${format}: ${name}` }).boundingBox();
        assert.ok(box !== null && box.height > 20, `${name}, ${format}`);
      }
    }
  });
});

test('rates are cumulative and without theory until another view is chosen', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const legend = page.locator('#fpr-chart .legend-entry .name').nth(2);
    assert.equal(await legend.textContent(), 'RLBSBF (k=2)');
    assert.equal(await legend.getAttribute('title'), 'rlbsbf:k=2');
    assert.ok(!(await page.getByLabel('Predicted by theory').isChecked()));
    await page.getByText('The curves as a table').click();
    const meaning = page.locator('#curves-meaning');
    assert.equal(await meaning.textContent(), 'Rates from the first line up to each position');
    const last = page.locator('#curves-table tbody tr').last().locator('td');
    const cumulative = await last.allTextContents();
    // Up to the last line: the rates of the whole log.
    const all = await page.locator('#error-chart .legend-value').allTextContents();
    assert.equal(cumulative[0], all[0]);
    await page.locator('#curve-kind').selectOption('windowed');
    assert.match((await meaning.textContent()) ?? '', /^Rates of the lines up to each position, since the previous one/);
    assert.notDeepEqual(await last.allTextContents(), cumulative);
  });
});
