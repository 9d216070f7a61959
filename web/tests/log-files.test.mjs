// Files of logs: several at once, several gzip members, and formats that are not read.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { assertAccessible } from './appearance-checks.mjs';
import { startBrowser } from './browser.mjs';
import { INITIAL_MEMORY_BITS, generateSample, simulate } from './command-line.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = startBrowser();

/** @param {string} name @param {string | Buffer} content */
function file(name, content) {
  return { name, mimeType: 'text/plain', buffer: Buffer.from(content) };
}

/** @param {Playground} playground @param {Buffer} log */
async function assertSameResults(playground, log) {
  await playground.run();
  const shown = await playground.outcomes();
  const filters = shown.map(({ filter }) => filter);
  assert.notEqual(filters.length, 0);
  const settings = { memoryBits: INITIAL_MEMORY_BITS, seed: 1, key: [] };
  assert.deepEqual(shown, simulate(log, filters, settings));
}

/** Cuts a log into parts of whole lines. @param {Buffer} log @param {number} parts */
function cut(log, parts) {
  const lines = log.toString().trimEnd().split('\n');
  const size = Math.ceil(lines.length / parts);
  return Array.from({ length: parts }, (_, part) =>
    lines.slice(part * size, (part + 1) * size).join('\n') + '\n');
}

test('a gzip file of several members is read to its end', async () => {
  const log = generateSample('Crawl');
  await visit(async (playground) => {
    const members = cut(log, 7).map((part) => gzipSync(part));
    await playground.choose(file('joined.log.gz', Buffer.concat(members)));
    await playground.examined();
    await assertSameResults(playground, log);
    // Bytes that look like the start of a member, stored without compression.
    const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
    const trap = Buffer.concat([Buffer.from('a\n'), header, Buffer.from('\na\nb\n')]);
    const stored = gzipSync(trap, { level: 0 });
    assert.ok(stored.includes(header, 10));
    await playground.choose(file('trap.gz', Buffer.concat([stored, gzipSync('b\nc\n')])));
    await playground.examined();
    await assertSameResults(playground, Buffer.concat([trap, Buffer.from('b\nc\n')]));
  });
});

test('rotated logs are read from the oldest to the newest', async () => {
  const log = generateSample('Crawl');
  const [oldest = '', middle = '', newest = ''] = cut(log, 3);
  await visit(async (playground) => {
    const { page } = playground;
    await playground.choose([
      file('access.log', newest),
      // The end of a file ends its last line.
      file('access.log.2.gz', gzipSync(oldest.trimEnd())),
      file('access.log.1', middle.trimEnd()),
    ]);
    await page
      .locator('#log-name', { hasText: '3 files (access.log.2.gz, access.log.1, access.log)' })
      .waitFor();
    await playground.examined();
    await assertSameResults(playground, log);
    await playground.choose([
      file('crawl.log-20260302', middle),
      file('crawl.log', newest),
      file('crawl.log-20260301.gz', gzipSync(oldest)),
    ]);
    await page.locator('#log-name', { hasText: 'crawl.log-20260301.gz, crawl.log-20260302, crawl.log)' }).waitFor();
    await assertSameResults(playground, log);
  });
});

test('a dropped directory of logs is read, and an empty one is named', async () => {
  const log = generateSample('Crawl');
  const [oldest = '', newest = ''] = cut(log, 2);
  const home = await mkdtemp(join(tmpdir(), 'dedupstore-logs-'));
  await Promise.all(['logs', 'none'].map((name) => mkdir(join(home, name))));
  await writeFile(join(home, 'logs/access.log'), newest);
  await writeFile(join(home, 'logs/access.log.1'), oldest);
  await writeFile(join(home, 'logs/.hidden'), 'no log\n');
  await visit(async (playground) => {
    await playground.drop(join(home, 'logs'));
    await playground.page
      .locator('#log-name', { hasText: '2 files (access.log.1, access.log)' })
      .waitFor();
    await playground.examined();
    await assertSameResults(playground, log);
    await playground.drop(join(home, 'none'));
    await playground.message.filter({ hasText: 'The directory none has no files' }).waitFor();
  });
  await rm(home, { recursive: true });
});

test('the memory for a compressed log is that for the log, and follows what the run has found', async () => {
  // The number of keys grows faster than the first lines show.
  const early = Array.from({ length: 40_000 }, (_, i) => `https://a.example/${i % 900}/index.html\n`);
  const late = Array.from({ length: 40_000 }, (_, i) => `https://a.example/late/${i}.html\n`);
  const log = [...early, ...late].join('');
  await visit(async (playground) => {
    const { page } = playground;
    const address = page.url().split('#')[0] ?? '';
    /** @param {string} name @param {string | Buffer} content */
    const suggested = async (name, content) => {
      await page.goto('about:blank');
      await page.goto(address);
      await playground.opened();
      await playground.choose(file(name, content));
      await page.locator('#answer-scope', { hasText: new RegExp(`^${name}, .* (48|64)\\sKiB per filter`) }).waitFor();
      await playground.finished();
      return page.locator('#memory-size').inputValue();
    };
    const plain = await suggested('log.txt', log);
    assert.equal(await suggested('log.txt.gz', gzipSync(log)), plain);
    // A memory that the user has set stays.
    await playground.setMemory(2, 'KiB');
    await playground.choose(file('again.txt', log));
    await page.locator('#answer-scope', { hasText: /^again\.txt, .* 2\sKiB per filter/ }).waitFor();
    await playground.finished();
    assert.equal(await page.locator('#memory-size').inputValue(), '2');
  });
});

test('formats that are not lines of text are called by their name', async () => {
  const text = 'https://a.example/\n'.repeat(30);
  const utf16 = Buffer.from(text, 'utf16le');
  await visit(async (playground) => {
    const { page } = playground;
    for (const [name, content, expected] of /** @type {[string, Buffer, RegExp][]} */ ([
      ['a.xz', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0, 0, 4]), /compressed with xz.*xz -dk/],
      ['a.bz2', Buffer.from('BZh91AY&SY'), /compressed with bzip2.*bunzip2/],
      ['a.zst', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0]), /compressed with Zstandard.*zstd -d/],
      ['a.lz4', Buffer.from([0x04, 0x22, 0x4d, 0x18, 0]), /compressed with LZ4.*lz4 -d/],
      ['a.zip', Buffer.from([0x50, 0x4b, 3, 4, 20, 0]), /a zip archive.*unzip/],
      ['bom.txt', Buffer.concat([Buffer.from([0xff, 0xfe]), utf16]), /UTF-16 text.*iconv -f UTF-16 /],
      ['plain.txt', utf16, /UTF-16LE text.*iconv -f UTF-16LE/],
    ])) {
      await playground.choose(file(name, content));
      await page.locator('#log-error', { hasText: expected }).waitFor();
      assert.match((await page.locator('#log-error').textContent()) ?? '', new RegExp(`^${name} is `));
    }
    await assertAccessible(page);
    await playground.choose(file('fine.txt', text));
    await playground.examined();
    assert.equal(await page.locator('#log-error').textContent(), '');
  });
});
