// What a visitor sees first, without a click: a small filter that makes a mistake, the answer, and
// the memory that changes it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible, outputPath } from './appearance-checks.mjs';
import { startBrowser } from './browser.mjs';

const visit = startBrowser();
/** As long as a visitor needs to understand what a filter is and how it errs. */
const UNDERSTOOD_MILLISECONDS = 10_000;
const MAX_ANSWER_MILLISECONDS = 1500;
/** Other programs may delay a visit. */
const VISITS = 4;

test('the sentence is visible soon', async (t) => {
  await visit(async (playground) => {
    const { page } = playground;
    /** @type {number[]} */
    const times = [];
    while (times.length < VISITS && !times.some((time) => time < MAX_ANSWER_MILLISECONDS)) {
      await page.goto('about:blank');
      await page.goBack();
      await playground.opened();
      times.push(await page.evaluate(() => performance.getEntriesByName('answer')[0]?.startTime ?? Infinity));
    }
    t.diagnostic(`the sentence was shown ${times.map((time) => time.toFixed(0)).join(', ')} ms after navigation`);
    assert.ok(Math.min(...times) < MAX_ANSWER_MILLISECONDS, `${times}`);
  });
});

for (const width of [1280, 390]) {
  test(`the small filter makes a mistake within ten seconds and says why: ${width} pixels`, async (t) => {
    await visit(
      async (playground) => {
        const { page } = playground;
        await page.reload();
        await page.locator('#hero:not([hidden])').waitFor();
        await page.waitForTimeout(500);
        await page.evaluate(() => {
          /** @type {number[]} */
          const shifts = [];
          Object.assign(window, { shifts });
          new PerformanceObserver((list) => {
            shifts.push(...list.getEntries().map((entry) => /** @type {*} */ (entry).value));
          }).observe({ type: 'layout-shift' });
        });
        await page.locator('#hero.mistake').waitFor();
        const milliseconds = await page.evaluate(() => performance.now());
        t.diagnostic(`the first mistake was shown after ${milliseconds.toFixed(0)} ms`);
        assert.ok(milliseconds < UNDERSTOOD_MILLISECONDS, `${milliseconds} ms`);
        assert.equal(await page.locator('#hero-verdict').textContent(), 'new, but skipped');
        assert.match((await page.locator('#hero-reason').textContent()) ?? '', /^Wrong: this key is new, but other keys had set all of its bits\./);
        assert.match((await page.locator('#hero-count').textContent()) ?? '', /^\d+ lines: 1 of \d+ new keys skipped$/);
        assert.match((await page.locator('#hero-cells').getAttribute('aria-label')) ?? '', /The cells of the selected key are outlined: its 4 bits are all set/);
        await page.getByRole('button', { name: 'Pause the small filter' }).click();
        const count = await page.locator('#hero-count').textContent();
        await page.waitForTimeout(1000);
        assert.equal(await page.locator('#hero-count').textContent(), count);
        // It goes on until it has made several mistakes, and ends with the lesson.
        await page.getByRole('button', { name: 'Play the small filter' }).click();
        await page.locator('#hero-reason', { hasText: 'With more memory, it is wrong less often' }).waitFor({ timeout: 30_000 });
        await page.getByRole('button', { name: 'Play the small filter' }).waitFor();
        // Nothing below has moved meanwhile: that would be more than a tenth of the window.
        const shifts = await page.evaluate(() => /** @type {number[]} */ (/** @type {*} */ (window).shifts));
        assert.ok(Math.max(0, ...shifts) < 0.01, `${shifts}`);
      },
      { moves: true, width },
    );
  });
}

for (const [width, height] of /** @type {const} */ ([[1280, 900], [1280, 720], [390, 844]])) {
  test(`without scrolling: a mistake, the answer and the memory, ${width} × ${height} pixels`, async () => {
    await visit(
      async (playground) => {
        const { page } = playground;
        // Reduced motion: the filter stands still at its first mistake.
        await page.locator('#hero.mistake').waitFor();
        const hidden = await page.evaluate(() => {
          scrollTo({ top: 0, behavior: 'instant' });
          const bar = document.querySelector('.start')?.getBoundingClientRect();
          const covered = bar !== undefined && bar.width > innerWidth / 2 ? innerHeight - bar.top : 0;
          return ['#hero', '#answer-sentence', '#memory-slider'].filter((selector) => {
            const box = document.querySelector(selector)?.getBoundingClientRect();
            return box === undefined || box.height === 0 || box.top < 0 || box.bottom > innerHeight - covered;
          });
        });
        assert.deepEqual(hidden, []);
        await assertAccessible(page);
        await page.screenshot({ path: outputPath(`first-sight-${width}x${height}.png`) });
      },
      { width, height },
    );
  });
}

test('the memory slider beside the answer is part of the settings', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await page.getByRole('button', { name: 'Get advice' }).click();
    await page.locator('#advice-answer:not([hidden])').waitFor();
    await page.locator('#memory-slider').focus();
    await page.keyboard.press('ArrowRight');
    await playground.finished();
    assert.equal(await page.locator('#memory-size').inputValue(), '12');
    assert.equal(await page.locator('#memory-shown').textContent(), '12\u00a0KiB');
    await page.locator('#answer-sentence', { hasText: /^In 12\sKiB, / }).waitFor();
    await page.waitForURL(/memory_bits=98304/);
    // Advice for another memory is out of date.
    await page.locator('#advice-answer').waitFor({ state: 'hidden' });
    // A number that the slider has no step for.
    await playground.setMemory(9, 'KiB');
    assert.equal(await page.locator('#memory-shown').textContent(), '9\u00a0KiB');
  });
});
