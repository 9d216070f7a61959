// The page is there at once: what it first loads is small, and what is large waits until
// it is wanted.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { stage } from './browser.mjs';

const visit = stage();
const MOST_BYTES = 300_000;

/** @param {import('playwright-core').Page} page */
function fetched(page) {
  /** @type {Map<string, Promise<Buffer>>} */
  const bodies = new Map();
  page.on('response', (response) => {
    if (response.url().startsWith('http')) {
      const body = response.body();
      // Nobody asks for all of them, and a page may close before they are whole.
      body.catch(() => undefined);
      bodies.set(response.url(), body);
    }
  });
  return bodies;
}

test('the first load, packed', async (t) => {
  await visit(async (playground) => {
    const { page } = playground;
    const bodies = fetched(page);
    await page.reload();
    await playground.ready();
    await playground.loadSample();
    await playground.run();
    const files = await Promise.all(
      [...bodies].map(async ([url, body]) => ({
        name: new URL(url).pathname.split('/').at(-1) || 'index.html',
        bytes: gzipSync(await body).length,
      })),
    );
    const names = files.map(({ name }) => name);
    assert.ok(names.some((name) => name.endsWith('.wasm')), `no engine among ${names}`);
    assert.ok(names.some((name) => name.startsWith('worker')), `no worker among ${names}`);
    assert.ok(!names.some((name) => name.includes('complete')), `${names}`);
    const sum = files.reduce((sum, { bytes }) => sum + bytes, 0);
    const parts = files.map(({ name, bytes }) => `${name} ${bytes}`).join(', ');
    t.diagnostic(`${sum} bytes packed by gzip: ${parts}`);
    assert.ok(sum < MOST_BYTES, `${sum} bytes: ${parts}`);
  });
});

test('the complete engine comes when it is wanted, and once', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const bodies = fetched(page);
    const complete = () => [...bodies.keys()].filter((url) => url.includes('complete'));
    await playground.loadSample();
    assert.deepEqual(complete(), []);
    await page.getByLabel('One spelling for each URL').check();
    await page.locator('#key-effect', { hasText: /Merges/ }).waitFor();
    assert.equal(complete().length, 1);
  });
});
