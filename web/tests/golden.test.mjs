// The engine that the page ships reaches the same states as every other build of it.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { stage } from './browser.mjs';

const visit = stage();
const file = new URL('../../fixtures/golden-states.txt', import.meta.url);
const assets = new URL('../dist/assets/', import.meta.url);

/** @typedef {typeof import('../src/wasm/dedupstore_wasm.js')} Bindings */

test('golden states', async () => {
  const expected = (await readFile(file, 'utf8')).trimEnd().split('\n');
  const engine = (await readdir(assets)).find((name) => name.endsWith('.wasm'));
  await visit(async ({ page }) => {
    const states = await page.evaluate(async (engine) => {
      const address = '/bindings/dedupstore_wasm.js';
      const bindings = /** @type {Bindings} */ (await import(address));
      await bindings.default({ module_or_path: `/assets/${engine}` });
      return bindings.goldenStates();
    }, engine);
    assert.deepEqual(states, expected);
  });
});
