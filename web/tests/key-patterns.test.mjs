// Keys by regular expression, and URL clean-up: previewed, and equal to the command line.

import assert from 'node:assert/strict';
import { test } from 'node:test';
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
  const settings = { memoryBits: INITIAL_MEMORY_BITS, seed: 1, key };
  const printed = simulate(log, shown.map(({ filter }) => filter), settings);
  assert.deepEqual(shown, printed);
}

/** A crawl in which every third URL has another spelling. */
function crawlWithSpellings() {
  const lines = generateSample('Crawl').toString().trimEnd().split('\n');
  return lines.map((line, place) => {
    const spelt = place % 3 === 0 ? line.replace(/^https:\/\/([^/]+)/, 'HTTPS://$1:443/x/..') : line;
    return place % 7 === 0 ? `${spelt}#part-${place}\n` : `${spelt}\n`;
  });
}

test('URL clean-up: the preview, its effect, and the results of the command line', async () => {
  const log = Buffer.from(crawlWithSpellings().join(''));
  await visit(async (playground) => {
    const { page } = playground;
    await playground.choose({ name: 'spelt.log', mimeType: 'text/plain', buffer: log });
    await playground.examined();
    assert.match(await page.locator('#key-effect').innerText(), /counts as/);
    await assertSameResults(playground, log, []);
    await page.getByLabel('Clean up URLs').check();
    await page.locator('#key-effect', { hasText: /^URL clean-up merges [\d,]+ distinct keys into [\d,]+ in the first [\d,]+ lines\.$/ }).waitFor();
    const keys = await page.locator('#key-preview li').allTextContents();
    assert.ok(keys.every((key) => /^https:\/\/[^:]+$/.test(key)), `${keys}`);
    await assertSameResults(playground, log, ['--normalize', 'whatwg']);
    assert.match(await page.locator('#export-commands').innerText(), /create .* --normalize whatwg\n/);
    await page.getByLabel('Clean up URLs').uncheck();
    await page.locator('#key-effect', { hasText: /^URL clean-up would merge/ }).waitFor();
    await assertSameResults(playground, log, []);
  });
});

test('the effect of URL clean-up is exact', async () => {
  const lines = ['http://a.example', 'HTTP://A.example/', 'http://a.example/#top', 'http://b.example/', 'x'];
  await visit(async (playground) => {
    const { page } = playground;
    const buffer = Buffer.from(lines.map((line) => `${line}\n`).join(''));
    await playground.choose({ name: 'five.txt', mimeType: 'text/plain', buffer });
    await playground.examined();
    await page.getByLabel('Clean up URLs').check();
    const effect = page.locator('#key-effect', { hasText: 'clean-up merges' });
    await effect.waitFor();
    assert.equal(
      await effect.innerText(),
      'URL clean-up merges 5 distinct keys into 3 in the first 5 lines.',
    );
  });
});

test('an answer of the engine does not change the text that the user is typing', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Access log');
    // The answer to the empty expression arrives while the next one is typed.
    await page.getByLabel('Which part of a line').selectOption({ label: 'A regular expression…' });
    await page.locator('#key-text').pressSequentially('"GET (/[^/ ]*)', { delay: 60 });
    await page.getByLabel('Clean up URLs').check();
    await page.locator('#key-effect', { hasText: /clean-up (merges|changes)/ }).waitFor();
    assert.equal(await page.locator('#key-text').inputValue(), '"GET (/[^/ ]*)');
    assert.ok(await page.getByLabel('Clean up URLs').isChecked());
  });
});

test('a regular expression: the group is the key, errors are shown, a link restores it', async () => {
  const log = generateSample('Access log');
  const expression = '"GET (/[^/ ]*)';
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Access log');
    const choice = page.getByLabel('Which part of a line');
    await choice.selectOption({ label: 'A regular expression…' });
    await page.locator('#key-text').fill('(open');
    await page.locator('#key-text').blur();
    await page.locator('#key-error', { hasText: 'unclosed group' }).waitFor();
    await playground.start();
    await playground.message.filter({ hasText: 'unclosed group' }).waitFor();
    await page.locator('#key-text').fill('nowhere to be found');
    await playground.start();
    await playground.message.filter({ hasText: /No line of access\.log has this key/ }).waitFor();
    await page.locator('#key-text').fill(expression);
    await page.locator('#key-text').blur();
    await page.locator('#key-preview li', { hasText: /^\/[^/]*$/ }).first().waitFor();
    await assertSameResults(playground, log, ['--key-regex', expression]);
    const before = await playground.outcomes();

    await page.getByRole('button', { name: 'Copy a link to these settings' }).click();
    await page.locator('#export-status', { hasText: 'Link copied' }).waitFor();
    const link = page.url();
    await page.goto('about:blank');
    await page.goto(link);
    await playground.ready();
    await page.locator('#log-name', { hasText: 'access.log' }).waitFor();
    await playground.run();
    assert.deepEqual(await playground.outcomes(), before);
    assert.equal(await page.locator('#key-text').inputValue(), expression);
  });
});
