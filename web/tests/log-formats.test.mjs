// Logs of several formats: the page recognizes them and finds the same keys as the command line.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startBrowser } from './browser.mjs';
import { INITIAL_MEMORY_BITS, generateSample, simulate } from './command-line.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = startBrowser();

/**
 * @param {Playground} playground
 * @param {Buffer} log
 * @param {string[]} key
 */
async function assertSameResults(playground, log, key) {
  await playground.run();
  const shown = await playground.outcomes();
  assert.notEqual(shown.length, 0);
  const settings = { memoryBits: INITIAL_MEMORY_BITS, seed: 1, key };
  const filters = shown.map(({ filter }) => filter);
  assert.deepEqual(shown, simulate(log, filters, settings));
}

/** @param {Playground} playground */
function previewTexts(playground) {
  return playground.page.locator('#key-preview li').allTextContents();
}

/** @param {string} name @param {string | Buffer} text */
function file(name, text) {
  return { name, mimeType: 'text/plain', buffer: Buffer.from(text) };
}

test('an access log: the URL, the IP address, both', async () => {
  const log = generateSample('Access log');
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Access log');
    assert.match(await page.locator('#key-format').innerText(), /access log/);
    assert.match((await previewTexts(playground))[0] ?? '', /^\//);
    await assertSameResults(playground, log, ['--field', '7']);
    await page.getByLabel('Which part of a line').selectOption({ label: 'IP address' });
    await page.locator('#key-preview li', { hasText: /^10\.[\d.]+$/ }).first().waitFor();
    await assertSameResults(playground, log, ['--field', '1']);
    await page.getByLabel('Which part of a line').selectOption({ label: 'IP address and URL' });
    await page.locator('#key-preview li', { hasText: /^10\.[\d.]+ \// }).first().waitFor();
    await assertSameResults(playground, log, ['--field', '1,7']);
  });
});

test('JSON lines: a suggested path, and a typed path', async () => {
  const log = generateSample('Click stream');
  await visit(async (playground) => {
    const { page } = playground;
    const choice = page.getByLabel('Which part of a line');
    await playground.loadSample('Click stream');
    assert.match(await page.locator('#key-format').innerText(), /JSON lines/);
    await choice.selectOption({ label: 'click' });
    await page.locator('#key-preview li', { hasText: /^c/ }).first().waitFor();
    await assertSameResults(playground, log, ['--json-key', 'click']);
    await choice.selectOption({ label: 'A JSON path…' });
    await page.locator('#key-text').fill('visitor.id');
    await page.locator('#key-text').blur();
    await page.locator('#key-preview li', { hasText: /^\d+$/ }).first().waitFor();
    await assertSameResults(playground, log, ['--json-key', 'visitor.id']);
  });
});

test('a table: columns are named by the first line', async () => {
  const text = 'when,where,what\n' + Array.from({ length: 900 }, (_, i) => `${i},p${i % 70},x\n`).join('');
  await visit(async (playground) => {
    const { page } = playground;
    await playground.choose(file('visits.csv', text));
    await playground.examined();
    assert.match(await page.locator('#key-format').innerText(), /CSV/);
    await page.getByLabel('Which part of a line').selectOption({ label: 'Column 2: where' });
    await page.locator('#key-preview li', { hasText: 'p0' }).first().waitFor();
    await assertSameResults(playground, Buffer.from(text), ['--field', '2', '--delimiter', ',']);
  });
});

test('pasted lines, and a compressed log', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await page.getByText('Paste lines').click();
    await page.getByLabel('Lines to use').fill('a\nb\na\n');
    await page.getByRole('button', { name: 'Use these lines' }).click();
    await playground.examined();
    await assertSameResults(playground, Buffer.from('a\nb\na\n'), []);
    const commands = (await page.locator('#export-commands').innerText()).split('\n');
    assert.equal(commands[0], '# Save the pasted lines as pasted-lines.txt.');
    assert.match(commands.at(-1) ?? '', /^dedupstore filter seen\.dds pasted-lines\.txt$/);
    const log = generateSample('Crawl');
    await playground.choose(file('crawl.log.gz', gzipSync(log)));
    await page.locator('#key-preview li', { hasText: 'https://' }).first().waitFor();
    await assertSameResults(playground, log, []);
  });
});

test('unreadable logs and invalid keys are reported, and the page works afterwards', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const compressed = gzipSync(generateSample('Crawl'));
    await playground.choose(file('cut.gz', compressed.subarray(0, compressed.length / 2)));
    await playground.start();
    await playground.message.filter({ hasText: /cut\.gz starts like a gzip file/ }).waitFor();
    await playground.choose(file('wrong.gz', Buffer.from([0x1f, 0x8b, 1, 2, 3])));
    await playground.start();
    await playground.message.filter({ hasText: /wrong\.gz starts like a gzip file/ }).waitFor();
    await playground.choose(file('picture.png', Buffer.from([0x89, 0x50, 0, 1, 10, 0, 7])));
    await page.locator('#key-format', { hasText: 'binary data' }).waitFor();
    await playground.loadSample('Click stream');
    await page.getByLabel('Which part of a line').selectOption({ label: 'A JSON path…' });
    await page.locator('#key-text').fill('a[');
    await page.locator('#key-text').blur();
    await page.locator('#key-error', { hasText: 'expected a path' }).waitFor();
    await playground.start();
    await playground.message.filter({ hasText: 'expected a path' }).waitFor();
    await page.locator('#key-text').fill('nowhere');
    await playground.start();
    await playground.message.filter({ hasText: /No line of clicks\.jsonl has this key/ }).waitFor();
    await page.getByLabel('Which part of a line').selectOption({ label: 'click' });
    await playground.run();
    assert.ok(await playground.message.isHidden());
  });
});
