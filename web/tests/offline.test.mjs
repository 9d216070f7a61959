// The page fetches nothing twice, and works after its server has gone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { INITIAL_MEMORY_BITS, generateSample, simulate } from './command-line.mjs';

const visit = startBrowser();

test('runs after the first one fetch nothing', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample();
    await playground.run();
    // The pointer near the list of filters loads the complete engine.
    await page.locator('#filter-list').hover();
    // The filter beside the title loads its own worker, after the first answer.
    let before;
    do {
      before = visit.requests().length;
      await page.waitForTimeout(1000);
    } while (visit.requests().length > before);
    assert.ok(before > 10, `${before} requests`);
    for (const size of [4, 16]) {
      await playground.setMemory(size, 'KiB');
      await playground.run();
    }
    // A cancelled run does not cost a worker.
    await playground.start();
    await playground.start();
    await playground.finished();
    assert.deepEqual(visit.requests().slice(before), []);
  });
});

// The last test: there is no server afterwards.
test('everything works after the server has gone, also a reload', async () => {
  const log = generateSample('Crawl');
  await visit(
    async (playground) => {
      const { page } = playground;
      await playground.loadSample();
      await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
      visit.stopServer();
      await playground.run();
      const filters = (await playground.outcomes()).map(({ filter }) => filter);
      // Needs the complete engine, which this visit has not used yet.
      await page.getByLabel('Which part of a line').selectOption({ label: 'A regular expression…' });
      await page.locator('#key-text').fill('https?://([^/]+)');
      await page.locator('#key-text').blur();
      await page.locator('#key-preview li', { hasText: /^www\./ }).first().waitFor();
      await playground.run();
      const settings = { memoryBits: INITIAL_MEMORY_BITS, seed: 1 };
      const key = ['--key-regex', 'https?://([^/]+)'];
      assert.deepEqual(await playground.outcomes(), simulate(log, filters, { ...settings, key }));
      await page.reload();
      await playground.ready();
      await playground.loadSample();
      await playground.run();
      assert.deepEqual(await playground.outcomes(), simulate(log, filters, { ...settings, key: [] }));
    },
    { offline: true },
  );
});
