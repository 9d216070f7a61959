// The page and the command line compute the same numbers for the same log.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { INITIAL_MEMORY_BITS, generateSample, simulate } from './command-line.mjs';

const visit = startBrowser();
/** @type {string} */
let directory;
/** @type {string} */
let oddLog;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'dedupstore-page-'));
  oddLog = join(directory, 'odd.log');
  await writeFile(oddLog, oddLines());
});

after(() => rm(directory, { recursive: true }));

/**
 * All byte values, both kinds of line ends, empty lines, a line longer than a piece that
 * the engine is fed, and no newline at the end.
 */
function oddLines() {
  const pieces = [Buffer.from('\n\n')];
  for (let i = 0; i < 40_000; i += 1) {
    const bytes = Buffer.from([i % 251, (i * 7) % 256, 0, 255, (i * i) % 256, i % 13]);
    pieces.push(bytes, Buffer.from(i % 3 === 0 ? '\r\n' : '\n'));
    if (i === 20_000) {
      pieces.push(Buffer.alloc(700_000, 'x'));
    }
  }
  pieces.push(Buffer.from('last, unfinished'));
  return Buffer.concat(pieces);
}

const WITHOUT_BYOB_READERS = `
  const getReader = ReadableStream.prototype.getReader;
  ReadableStream.prototype.getReader = function (options) {
    if (options?.mode === 'byob') throw new TypeError('not a byte stream');
    return getReader.call(this);
  };
`;

const INITIAL = { memoryBits: INITIAL_MEMORY_BITS, seed: 1 };

/**
 * @param {import('./playground.mjs').Playground} playground
 * @param {string | Buffer} file
 * @param {{ memoryBits: number, seed: number, key?: string[] }} settings
 */
async function assertSameAsCommandLine(playground, file, settings) {
  const shown = await playground.outcomes();
  assert.notEqual(shown.length, 0);
  const printed = simulate(file, shown.map(({ filter }) => filter), settings);
  assert.deepEqual(shown, printed);
}

test('the sample, with all filters and default parameters', async () => {
  await visit(async (playground) => {
    await playground.loadSample();
    await playground.addAllFilters();
    await playground.run();
    const choices = playground.page.locator('#filter-choice option');
    assert.equal((await playground.outcomes()).length, await choices.count());
    await assertSameAsCommandLine(playground, generateSample('Crawl'), INITIAL);
  });
});

test('the sample with another memory, seed and parameters', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await page.locator('#filter-choice').selectOption('bloom');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    const added = page.locator('.filter-card').last();
    await added.getByLabel('k', { exact: true }).fill('7');
    await added.getByLabel('layout', { exact: true }).selectOption('partitioned');
    await page.getByRole('button', { name: 'Remove stable' }).click();
    await playground.loadSample();
    await playground.setMemory(0.3, 'KiB');
    await playground.setSeed(4_294_967_295);
    await playground.run();
    const filters = (await playground.outcomes()).map(({ filter }) => filter);
    assert.ok(filters.includes('bloom:k=7,layout=partitioned'), `${filters}`);
    assert.ok(!filters.some((filter) => filter.startsWith('stable:')), `${filters}`);
    const settings = { memoryBits: Math.floor(0.3 * 8192), seed: 4_294_967_295 };
    await assertSameAsCommandLine(playground, generateSample('Crawl'), settings);
  });
});

test('a dropped file', async () => {
  await visit(async (playground) => {
    await playground.drop(oddLog);
    await playground.page.locator('#log-name', { hasText: 'odd.log' }).waitFor();
    await playground.run();
    await assertSameAsCommandLine(playground, oddLog, INITIAL);
  });
});

test('a chosen file, then a file of one line', async () => {
  const shortLog = join(directory, 'short.log');
  await writeFile(shortLog, 'alone');
  await visit(async (playground) => {
    await playground.choose(oddLog);
    await playground.setMemory(100, 'B');
    await playground.run();
    await assertSameAsCommandLine(playground, oddLog, { memoryBits: 800, seed: 1 });
    await playground.choose(shortLog);
    await playground.run();
    await assertSameAsCommandLine(playground, shortLog, { memoryBits: 800, seed: 1 });
  });
});

test('a file in a browser without BYOB readers', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    let patched = 0;
    await page.route('**/*.worker-*.js', async (route) => {
      const response = await route.fetch();
      patched += 1;
      await route.fulfill({ response, body: WITHOUT_BYOB_READERS + (await response.text()) });
    });
    await page.reload();
    await playground.ready();
    await playground.choose(oddLog);
    await playground.run();
    assert.ok(patched > 0);
    await assertSameAsCommandLine(playground, oddLog, INITIAL);
  });
});
