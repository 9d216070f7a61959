// The page is there at once: what it first loads is small, and what is large waits until
// it is wanted.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { stage } from './browser.mjs';

const visit = stage();
const MOST_BYTES = 300_000;

/**
 * The addresses of all that a page loads from now on.
 * @param {import('playwright-core').Page} page
 */
function fetched(page) {
  /** @type {Set<string>} */
  const addresses = new Set();
  page.on('response', (response) => {
    if (response.url().startsWith('http')) addresses.add(response.url());
  });
  return addresses;
}

/**
 * What lies at an address. Asked of the server once more: a browser does not keep the
 * answers that a worker got when that worker has ended.
 * @param {string} address
 */
async function content(address) {
  const response = await fetch(address);
  assert.ok(response.ok, `${address}: ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

test('the first load, packed', async (t) => {
  await visit(async (playground) => {
    const { page } = playground;
    const addresses = fetched(page);
    await page.reload();
    await playground.ready();
    await playground.loadSample();
    await playground.run();
    const files = await Promise.all(
      [...addresses].map(async (address) => ({
        name: new URL(address).pathname.split('/').at(-1) || 'index.html',
        bytes: gzipSync(await content(address)).length,
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
    const addresses = fetched(page);
    const complete = () => [...addresses].filter((address) => address.includes('complete'));
    await playground.loadSample();
    assert.deepEqual(complete(), []);
    await page.getByLabel('One spelling for each URL').check();
    await page.locator('#key-effect', { hasText: /Merges/ }).waitFor();
    assert.equal(complete().length, 1);
  });
});
