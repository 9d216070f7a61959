// Files that are no log, or a broken one: each gets a clear word, and the page goes on
// working.

import assert from 'node:assert/strict';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { stage } from './browser.mjs';
import { INITIAL_MEMORY_BITS, SAMPLE_LINES, generated, simulate } from './command-line.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = stage();

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

test('packed wrongly: cut short, garbage inside, only by name, or by Zstandard', async () => {
  const packed = gzipSync(generated('Crawl'));
  const spoilt = Buffer.from(packed);
  const middle = packed.length >> 1;
  spoilt.fill(0x55, middle, middle + 64);
  /** @type {[string, Buffer, RegExp][]} */
  const cases = [
    ['cut.gz', packed.subarray(0, packed.length - 9), /cut\.gz begins like a gzip file but could not/],
    ['spoilt.gz', spoilt, /spoilt\.gz begins like a gzip file but could not/],
    ['twice.gz', Buffer.concat([packed, packed]), /twice\.gz .* several files in one/],
    ['plain.gz', generated('Crawl'), /plain\.gz ends in \.gz and does not begin like a gzip file/],
    ['log.zst', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 1, 2]), /log\.zst is packed by Zstandard/],
  ];
  await visit(async (playground) => {
    for (const [name, buffer, expected] of cases) {
      await playground.choose(file(name, buffer));
      await playground.start();
      await playground.message.filter({ hasText: expected }).waitFor();
      assert.ok(await playground.page.locator('#outcomes').isHidden(), name);
    }
    await playground.page.getByRole('button', { name: 'Ask for advice' }).click();
    await playground.message.filter({ hasText: /log\.zst/ }).waitFor();
    await assertStillWorks(playground);
  });
});

test('a binary file and an empty one', async () => {
  const bytes = Buffer.alloc(200_000, 0);
  bytes.forEach((_, place) => (bytes[place] = (place * place * 31 + place) % 256));
  await visit(async (playground) => {
    const { page } = playground;
    await playground.choose(file('picture.png', bytes));
    await page.locator('#key-caution', { hasText: 'This is no text' }).waitFor();
    await playground.run();
    const shown = await playground.outcomes();
    const filters = shown.map(({ filter }) => filter);
    assert.deepEqual(shown, simulate(bytes, filters, { memoryBits: INITIAL_MEMORY_BITS, seed: 1 }));

    await playground.choose(file('empty.log', Buffer.alloc(0)));
    await playground.start();
    await playground.message.filter({ hasText: 'empty.log is empty' }).waitFor();
    await page.getByRole('button', { name: 'Ask for advice' }).click();
    await playground.message.filter({ hasText: 'empty.log is empty' }).waitFor();
    await assertStillWorks(playground);
    assert.equal(await page.locator('#key-caution').innerText(), '');
  });
});

test('one line of 120 MB', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dedupstore-page-'));
  const path = join(folder, 'giant.log');
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
      await page.locator('#key-caution', { hasText: 'no end in sight' }).waitFor();
      const [key] = await page.locator('#key-preview li').allTextContents();
      assert.ok((key?.length ?? 0) < 300, `${key?.length} characters of a preview`);
      await playground.start();
      await page.locator('#progress').waitFor({ state: 'hidden', timeout: 60_000 });
      assert.match(await playground.status.innerText(), /^giant\.log: 1 lines?, 1 distinct, 0 repeats\.$/);
      await assertStillWorks(playground);
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a table with quotes: columns are found, and a word says where they go wrong', async () => {
  const rows = Array.from({ length: 300 }, (_, i) => `${i},"Smith, J${i % 40}",x${i % 9}\n`);
  const text = Buffer.from(`id,name,kind\n${rows.join('')}`);
  await visit(async (playground) => {
    const { page } = playground;
    await playground.choose(file('people.csv', text));
    await page.locator('#key-caution', { hasText: 'Some fields are quoted' }).waitFor();
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

test('the key is changed in the middle of a run, and the next run goes by it', async () => {
  const log = generated('Access log');
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Access log');
    await playground.setSpeed(2000);
    await playground.start();
    await page.locator('#outcomes tbody tr').first().waitFor();
    await page.getByLabel('Which part of a line').selectOption({ label: 'IP address' });
    await page.locator('#key-preview li', { hasText: /^10\.[\d.]+$/ }).first().waitFor();
    await page.getByLabel('Speed').selectOption('0');
    await playground.run();
    const shown = await playground.outcomes();
    const settings = { memoryBits: INITIAL_MEMORY_BITS, seed: 1, key: ['--field', '1'] };
    assert.deepEqual(shown, simulate(log, shown.map(({ filter }) => filter), settings));
  });
});
