// Both engines of the page reach the golden states, like every other build. The first one has not
// all filters.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { startBrowser } from './browser.mjs';

const visit = startBrowser();
const file = new URL('../../fixtures/golden-states.txt', import.meta.url);
const assets = new URL('../dist/assets/', import.meta.url);

/** @typedef {typeof import('../src/wasm/dedupstore_wasm.js')} Bindings */

test('golden states', async () => {
  const expected = (await readFile(file, 'utf8')).trimEnd().split('\n');
  const engines = (await readdir(assets)).filter((name) => name.endsWith('.wasm'));
  assert.equal(engines.length, 2);
  await visit(async ({ page }) => {
    for (const engine of engines) {
      const states = await page.evaluate(async (engine) => {
        // A different address loads the bindings again: they hold one engine.
        const address = `/bindings/dedupstore_wasm.js?${engine}`;
        const bindings = /** @type {Bindings} */ (await import(address));
        await bindings.default({ module_or_path: `/assets/${engine}` });
        return bindings.goldenStates();
      }, engine);
      const isComplete = engine.includes('complete');
      const name = (/** @type {string} */ state) => state.split(/[: ]/)[0];
      const known = new Set(states.map(name));
      assert.ok(isComplete || known.size >= 5, `${[...known]}`);
      // Golden states are in the order in which filters were added.
      const ofEngine = expected.filter((state) => isComplete || known.has(name(state)));
      assert.deepEqual([...states].sort(), ofEngine.sort(), engine);
    }
  });
});
