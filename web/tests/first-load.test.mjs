// The first load is small. Large parts are loaded when they are needed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startBrowser } from './browser.mjs';

const visit = startBrowser();
/** Compressed with gzip. */
const MAX_BYTES = 350_000;

/**
 * Collects the addresses that the page loads from now on.
 * @param {import('playwright-core').Page} page
 */
function collectAddresses(page) {
  /** @type {Set<string>} */
  const addresses = new Set();
  page.on('response', (response) => {
    if (response.url().startsWith('http')) addresses.add(response.url());
  });
  return addresses;
}

/**
 * Requests an address again. The browser drops the responses of a worker that has ended.
 * @param {string} address
 */
async function content(address) {
  const response = await fetch(address);
  assert.ok(response.ok, `${address}: ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

test('the first load is within its budget', async (t) => {
  await visit(async (playground) => {
    const { page } = playground;
    const addresses = collectAddresses(page);
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
    assert.ok(names.some((name) => name.endsWith('.wasm')), `no engine in ${names}`);
    assert.ok(names.some((name) => name.startsWith('run.worker')), `no worker in ${names}`);
    assert.ok(!names.some((name) => name.includes('complete')), `${names}`);
    const sum = files.reduce((sum, { bytes }) => sum + bytes, 0);
    const parts = files.map(({ name, bytes }) => `${name} ${bytes}`).join(', ');
    t.diagnostic(`${sum} bytes compressed with gzip: ${parts}`);
    assert.ok(sum < MAX_BYTES, `${sum} bytes: ${parts}`);
  });
});

test('the complete engine is loaded once, when it is needed', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const addresses = collectAddresses(page);
    const complete = () => [...addresses].filter((address) => address.includes('complete'));
    await playground.loadSample();
    assert.deepEqual(complete(), []);
    await page.getByLabel('Clean up URLs').check();
    await page.locator('#key-effect', { hasText: /clean-up (merges|changes)/ }).waitFor();
    assert.equal(complete().length, 1);
  });
});
