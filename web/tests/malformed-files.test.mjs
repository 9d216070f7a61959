// Files that are not a log, or a damaged one: each is reported, and the page works afterwards.

import assert from 'node:assert/strict';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startBrowser } from './browser.mjs';
import { INITIAL_MEMORY_BITS, SAMPLE_LINES, generateSample, simulate } from './command-line.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = startBrowser();

/** @param {string} name @param {Buffer} buffer */
function file(name, buffer) {
  return { name, mimeType: 'application/octet-stream', buffer };
}

/** @param {Playground} playground */
async function assertStillWorks(playground) {
  await playground.loadSample();
  await playground.run();
  assert.ok(await playground.message.isHidden());
  assert.equal((await playground.outcomes())[0]?.count, SAMPLE_LINES);
}

test('gzip files that are truncated, damaged, or not gzip; Zstandard', async () => {
  const compressed = gzipSync(generateSample('Crawl'));
  const damaged = Buffer.from(compressed);
  const middle = compressed.length >> 1;
  damaged.fill(0x55, middle, middle + 64);
  /** @type {[string, Buffer, RegExp][]} */
  const cases = [
    ['cut.gz', compressed.subarray(0, compressed.length - 9), /cut\.gz starts like a gzip file but could not/],
    ['damaged.gz', damaged, /damaged\.gz starts like a gzip file but could not/],
    ['plain.gz', generateSample('Crawl'), /plain\.gz ends in \.gz but is not a gzip file/],
    ['log.zst', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 1, 2]), /log\.zst is compressed with Zstandard/],
  ];
  await visit(async (playground) => {
    for (const [name, buffer, expected] of cases) {
      await playground.choose(file(name, buffer));
      await playground.start();
      await playground.message.filter({ hasText: expected }).waitFor();
      await playground.assertOutdated();
    }
    await playground.page.getByRole('button', { name: 'Get advice' }).click();
    await playground.message.filter({ hasText: /log\.zst/ }).waitFor();
    await assertStillWorks(playground);
  });
});

test('a binary file and an empty file', async () => {
  const bytes = Buffer.alloc(200_000, 0);
  bytes.forEach((_, place) => (bytes[place] = (place * place * 31 + place) % 256));
  await visit(async (playground) => {
    const { page } = playground;
    await playground.choose(file('picture.png', bytes));
    await page.locator('#key-warning', { hasText: 'This is not a text file' }).waitFor();
    await playground.run();
    const shown = await playground.outcomes();
    const filters = shown.map(({ filter }) => filter);
    assert.deepEqual(shown, simulate(bytes, filters, { memoryBits: INITIAL_MEMORY_BITS, seed: 1 }));

    await playground.choose(file('empty.log', Buffer.alloc(0)));
    await playground.start();
    await playground.message.filter({ hasText: 'empty.log is empty' }).waitFor();
    await page.getByRole('button', { name: 'Get advice' }).click();
    await playground.message.filter({ hasText: 'empty.log is empty' }).waitFor();
    await assertStillWorks(playground);
    assert.equal(await page.locator('#key-warning').innerText(), '');
  });
});

test('one line of 120 MB', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'dedupstore-page-'));
  const path = join(directory, 'giant.log');
  const handle = await open(path, 'w');
  const block = Buffer.alloc(1 << 20, 'giant ');
  for (let blocks = 0; blocks < 120; blocks += 1) {
    await handle.write(block);
  }
  await handle.close();
  try {
    await visit(async (playground) => {
      const { page } = playground;
      await playground.choose(path);
      await page.locator('#key-warning', { hasText: 'The first line is very long' }).waitFor();
      const [key] = await page.locator('#key-preview li').allTextContents();
      assert.ok((key?.length ?? 0) < 300, `${key?.length} characters in the preview`);
      await playground.start();
      await playground.finished();
      assert.match(await playground.status.innerText(), /^giant\.log: 1 line, 1 distinct key, 0 repeats\.$/);
      await assertStillWorks(playground);
    });
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('a table with quotes: columns are found, with a warning about shifted columns', async () => {
  const rows = Array.from({ length: 300 }, (_, i) => `${i},"Smith, J${i % 40}",x${i % 9}\n`);
  const text = Buffer.from(`id,name,kind\n${rows.join('')}`);
  await visit(async (playground) => {
    const { page } = playground;
    await playground.choose(file('people.csv', text));
    await page.locator('#key-warning', { hasText: 'Some quoted fields contain the delimiter' }).waitFor();
    const choice = page.getByLabel('Which part of a line');
    await choice.selectOption({ label: 'Column 2: name' });
    await page.locator('#key-preview li', { hasText: '"Smith' }).first().waitFor();
    await choice.selectOption({ label: 'A regular expression…' });
    await page.locator('#key-text').fill('"([^"]*)"');
    await page.locator('#key-text').blur();
    await page.locator('#key-preview li', { hasText: /^Smith, J\d+$/ }).first().waitFor();
    await playground.run();
    const shown = await playground.outcomes();
    const settings = { memoryBits: INITIAL_MEMORY_BITS, seed: 1, key: ['--key-regex', '"([^"]*)"'] };
    assert.deepEqual(shown, simulate(text, shown.map(({ filter }) => filter), settings));
    assert.equal(shown[0]?.distinct, 40);
  });
});

test('a key that is changed during a run is used by the next run', async () => {
  const log = generateSample('Access log');
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Access log');
    await playground.setSpeed(2000);
    await playground.start();
    await page.getByRole('button', { name: 'Pause', exact: true }).waitFor();
    await page.getByLabel('Which part of a line').selectOption({ label: 'IP address' });
    await page.locator('#key-preview li', { hasText: /^10\.[\d.]+$/ }).first().waitFor();
    await page.getByLabel('Speed').selectOption('0');
    await playground.run();
    const shown = await playground.outcomes();
    const settings = { memoryBits: INITIAL_MEMORY_BITS, seed: 1, key: ['--field', '1'] };
    assert.deepEqual(shown, simulate(log, shown.map(({ filter }) => filter), settings));
  });
});
