// The page and the command line give the same numbers for the same log.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { stage } from './browser.mjs';
import { INITIAL_MEMORY_BITS, generated, simulate } from './command-line.mjs';

const visit = stage();
/** @type {string} */
let folder;
/** @type {string} */
let oddLog;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dedupstore-page-'));
  oddLog = join(folder, 'odd.log');
  await writeFile(oddLog, oddLines());
});

after(() => rm(folder, { recursive: true }));

/**
 * Every byte there is, both kinds of line end, empty lines, a line longer than what the
 * engine is fed at a time, and no newline at the end.
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

const WITHOUT_FILLING_READERS = `
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

test('the sample, with every filter there is at its defaults', async () => {
  await visit(async (playground) => {
    await playground.loadSample();
    await playground.page.getByRole('button', { name: 'Add every filter there is' }).click();
    await playground.run();
    const offered = playground.page.locator('#filter-choice option');
    assert.equal((await playground.outcomes()).length, await offered.count());
    await assertSameAsCommandLine(playground, generated('Crawl'), INITIAL);
  });
});

test('the sample in another memory, with another seed and other parameters', async () => {
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
    await assertSameAsCommandLine(playground, generated('Crawl'), settings);
  });
});

test('a file that is dropped', async () => {
  await visit(async (playground) => {
    await playground.drop(oddLog);
    await playground.page.locator('#log-name', { hasText: 'odd.log' }).waitFor();
    await playground.run();
    await assertSameAsCommandLine(playground, oddLog, INITIAL);
  });
});

test('a file that is chosen, and after it one of a single line', async () => {
  const shortLog = join(folder, 'short.log');
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

test('a file in a browser whose reader cannot fill a buffer of ours', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    let handicapped = 0;
    await page.route('**/worker-*.js', async (route) => {
      const response = await route.fetch();
      handicapped += 1;
      await route.fulfill({ response, body: WITHOUT_FILLING_READERS + (await response.text()) });
    });
    await page.reload();
    await playground.ready();
    await playground.choose(oddLog);
    await playground.run();
    assert.ok(handicapped > 0);
    await assertSameAsCommandLine(playground, oddLog, INITIAL);
  });
});
