// Links: the address always has the settings, and a link applies to an open tab.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBrowser } from './browser.mjs';

const visit = startBrowser();

test('the address follows the settings', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.setMemory(3, 'KiB');
    await page.waitForURL(/memory_bits=24576/);
    await playground.setSeed(7);
    await page.waitForURL(/memory_bits=24576.*seed=7/);
    await playground.loadSample('Access log');
    await page.waitForURL(/sample=access.*field=7/);
  });
});

test('a link that is pasted into an open tab applies', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample();
    const link = new URLSearchParams({ memory_bits: '16384', seed: '5', filter: 'bloom:k=3,layout=shared', sample: 'clicks', json_key: 'click' });
    await page.evaluate((hash) => {
      location.hash = hash;
    }, `${link}`);
    await page.locator('#log-name', { hasText: 'clicks.jsonl' }).waitFor();
    await page.locator('#outcomes tbody tr[data-filter="bloom:k=3,layout=shared"]').waitFor({ state: 'attached' });
    assert.equal(await page.getByLabel('Seed').inputValue(), '5');
    assert.equal(await page.locator('#memory-size').inputValue(), '2');
    // A key for the same log.
    await page.evaluate(() => {
      location.hash = 'json_key=visitor.id';
    });
    await page.locator('#key-preview li', { hasText: /^\d+$/ }).first().waitFor();
  });
});

test('parts of a link that are not understood are named', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await page.evaluate(() => {
      location.hash = 'memory_bits=lots&colour=red&sample=nothing&seed=4';
    });
    const message = page.locator('#link-message');
    for (const part of ['memory_bits=lots', 'colour=red', 'sample=nothing']) {
      await message.filter({ hasText: part }).waitFor();
    }
    assert.ok(!(await message.textContent())?.includes('seed'));
    assert.equal(await page.getByLabel('Seed').inputValue(), '4');
    await page.evaluate(() => {
      location.hash = 'filter=bloom&filter=blum:k=3';
    });
    await message.filter({ hasText: 'filter=blum:k=3' }).waitFor();
  });
});

test('a link with one filter that is not among the first ones', async () => {
  for (const filter of ['dsqf', 'fpbuffer', 'recent', 'window']) {
    await visit(async (playground) => {
      const { page } = playground;
      await page.goto(`${new URL('/', page.url())}#filter=${filter}&sample=crawl`);
      await page.reload();
      await page.locator(`#comparison tbody tr[data-filter^="${filter}:"]`).waitFor();
      await playground.finished();
      assert.equal((await playground.outcomes()).length, 1);
      assert.equal(await page.locator('#link-message').innerText(), '');
    });
  }
});
