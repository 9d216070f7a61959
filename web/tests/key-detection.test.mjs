// The page chooses the key that a person would choose, for every format.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startBrowser } from './browser.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = startBrowser();

/** @param {string} name @param {string | Buffer} text */
function file(name, text) {
  return { name, mimeType: 'text/plain', buffer: Buffer.from(text) };
}

/** @param {string} name */
function fixture(name) {
  return readFileSync(fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url)));
}

/** @param {number} count @param {(i: number) => string} line */
function lines(count, line) {
  return Array.from({ length: count }, (_, i) => `${line(i)}\n`).join('');
}

const url = (/** @type {number} */ i) => `https://site${i % 7}.example/page/${(i * 7) % 280}`;
const time = (/** @type {number} */ i) =>
  `2026-03-01T${String(Math.floor(i / 3600)).padStart(2, '0')}:${String(Math.floor(i / 60) % 60).padStart(2, '0')}:${String(i % 60).padStart(2, '0')}Z`;

/** A log and the label of the key that a person would choose. @type {[string, string | Buffer, string][]} */
const LOGS = [
  ['crawl.log', fixture('crawl.log'), 'The whole line'],
  ['access.log', fixture('access.log'), 'Requested URL'],
  ['fetches.csv', 'time,status,bytes,url\n' + lines(900, (i) => `${time(i)},${i % 9 ? 200 : 404},${i * 17},${url(i)}`), 'Column 4: url'],
  ['plain.csv', lines(900, (i) => `${i},${time(i)},${url(i)},GET`), 'Column 3'],
  ['epoch.tsv', lines(900, (i) => `${1772323200 + i}\t/p/${i % 300}\t200`), 'Column 2'],
  ['users.tsv', 'ts\tsession\tcountry\tuser_id\n' + lines(900, (i) => `${1772323200 + i}\ts${i}\tc${i % 20}\t${(i * 7) % 350}`), 'Column 4: user_id'],
  ['fetches.ndjson', lines(900, (i) => JSON.stringify({ '@timestamp': time(i), level: 'info', seq: i, referrer: url(i * 3), request: { url: url(i), status: 200 } })), 'request.url'],
  ['clicks.ndjson', lines(900, (i) => JSON.stringify({ at: time(i), event: `e${i}`, click: `c${i % 500}`, country: ['de', 'fr'][i % 2] })), 'click'],
];

for (const [name, text, expected] of LOGS) {
  test(`the key of ${name}`, async () => {
    await visit(async (playground) => {
      const { page } = playground;
      await playground.choose(file(name, text));
      await page.locator('#log-name', { hasText: name }).waitFor();
      const chosen = page.locator('#key-choice option:checked', { hasText: expected });
      await chosen.waitFor({ state: 'attached' });
      await playground.examined();
      assert.equal(await chosen.textContent(), expected);
      assert.equal(await page.locator('#key-warning').textContent(), '');
    });
  });
}

test('the keys of the samples', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    for (const [sample, expected] of /** @type {const} */ ([
      ['Crawl', 'The whole line'],
      ['Crawl with depths', 'Column 1'],
      ['Access log', 'Requested URL'],
      ['Click stream', 'click'],
    ])) {
      await playground.loadSample(sample);
      await page
        .locator('#key-choice option:checked', { hasText: expected })
        .waitFor({ state: 'attached' });
    }
  });
});

test('a header is no key, and a key without repeats gets a warning', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const table = 'time,url\n' + lines(300, (i) => `${time(i)},${url(i)}`);
    await playground.choose(file('fetches.csv', table));
    await page.locator('#key-format', { hasText: 'column names in its first line' }).waitFor();
    assert.ok((await page.locator('#key-preview li').first().textContent())?.startsWith('https:'));
    await page.getByLabel('Which part of a line').selectOption({ label: 'Column 1: time' });
    await page.locator('#key-warning', { hasText: 'This key is a time, and none of the first 300' }).waitFor();
    await playground.choose(file('unique.txt', lines(50, (i) => `line ${i}`)));
    await page.locator('#key-warning', { hasText: 'None of the first 50 keys comes twice' }).waitFor();
  });
});

test('the preview cuts the middle of long keys, and follows typing', async () => {
  const long = (/** @type {number} */ i) =>
    `https://a.example/${'section/'.repeat(30)}article-${i % 60}.html`;
  await visit(async (playground) => {
    const { page } = playground;
    await playground.choose(file('long.log', lines(300, long)));
    await page.locator('#key-preview li', { hasText: /^https:.*….*article-0\.html$/ }).waitFor();
    const keys = await page.locator('#key-preview li').allTextContents();
    assert.equal(new Set(keys).size, keys.length);
    await page.getByLabel('Which part of a line').selectOption({ label: 'A regular expression…' });
    // No blur.
    await page.locator('#key-text').pressSequentially('article-(');
    await page.locator('#key-error', { hasText: 'article-(' }).waitFor();
    assert.equal(await page.locator('#key-text').getAttribute('aria-invalid'), 'true');
    await page.locator('#key-text').pressSequentially('\\d+)');
    await page.locator('#key-preview li', { hasText: /^5$/ }).waitFor();
    assert.equal(await page.locator('#key-error').textContent(), '');
    await page.getByLabel('Which part of a line').selectOption({ label: 'A JSON path…' });
    await page.locator('#key-text').fill('');
    await page.locator('#key-error', { hasText: 'found an empty path' }).waitFor();
  });
});
