// Keys by regular expression and URLs in one spelling: found by the code of the command
// line, previewed, and said in words.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stage } from './browser.mjs';
import { INITIAL_MEMORY_BITS, generated, simulate } from './command-line.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = stage();

/**
 * @param {Playground} playground
 * @param {Buffer} log
 * @param {string[]} key
 */
async function assertRunsAs(playground, log, key) {
  await playground.run();
  const shown = await playground.outcomes();
  const settings = { memoryBits: INITIAL_MEMORY_BITS, seed: 1, key };
  const printed = simulate(log, shown.map(({ filter }) => filter), settings);
  assert.deepEqual(shown, printed);
}

/** Every third URL of a crawl in another spelling. */
function misspelt() {
  const lines = generated('Crawl').toString().trimEnd().split('\n');
  return lines.map((line, place) => {
    const spelt = place % 3 === 0 ? line.replace(/^https:\/\/([^/]+)/, 'HTTPS://$1:443/x/..') : line;
    return place % 7 === 0 ? `${spelt}#part-${place}\n` : `${spelt}\n`;
  });
}

test('URLs in one spelling merge, are previewed and counted as by the command line', async () => {
  const log = Buffer.from(misspelt().join(''));
  await visit(async (playground) => {
    const { page } = playground;
    await playground.choose({ name: 'spelt.log', mimeType: 'text/plain', buffer: log });
    await playground.examined();
    assert.match(await page.locator('#key-effect').innerText(), /counts as/);
    await assertRunsAs(playground, log, []);
    await page.getByLabel('One spelling for each URL').check();
    await page.locator('#key-effect', { hasText: /^Merges [\d.]+\s% more: [\d,]+ different keys are [\d,]+ in/ }).waitFor();
    const keys = await page.locator('#key-preview li').allTextContents();
    assert.ok(keys.every((key) => /^https:\/\/[^:]+$/.test(key)), `${keys}`);
    await assertRunsAs(playground, log, ['--normalize', 'whatwg']);
    assert.match(await page.locator('#take-command').innerText(), /create .* --normalize whatwg\n/);
    await page.getByLabel('One spelling for each URL').uncheck();
    await page.locator('#key-effect', { hasText: /^Would merge [\d.]+\s% more/ }).waitFor();
    await assertRunsAs(playground, log, []);
  });
});

test('the effect is that of the first lines, to the key', async () => {
  const lines = ['http://a.example', 'HTTP://A.example/', 'http://a.example/#top', 'http://b.example/', 'x'];
  await visit(async (playground) => {
    const { page } = playground;
    const buffer = Buffer.from(lines.map((line) => `${line}\n`).join(''));
    await playground.choose({ name: 'five.txt', mimeType: 'text/plain', buffer });
    await playground.examined();
    await page.getByLabel('One spelling for each URL').check();
    const said = page.locator('#key-effect', { hasText: 'Merges' });
    await said.waitFor();
    assert.equal(
      await said.innerText(),
      'Merges 40.0\u00a0% more: 5 different keys are 3 in the first 5 lines.',
    );
  });
});

test('what is typed while the engine looks stays as it is typed', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Access log');
    // The answer to the empty expression comes while the next one is typed.
    await page.getByLabel('Which part of a line').selectOption({ label: 'A regular expression…' });
    await page.locator('#key-text').pressSequentially('"GET (/[^/ ]*)', { delay: 60 });
    await page.getByLabel('One spelling for each URL').check();
    await page.locator('#key-effect', { hasText: 'Merges' }).waitFor();
    assert.equal(await page.locator('#key-text').inputValue(), '"GET (/[^/ ]*)');
    assert.ok(await page.getByLabel('One spelling for each URL').isChecked());
  });
});

test('a regular expression: its group is the key, a mistake is shown, a link restores it', async () => {
  const log = generated('Access log');
  const expression = '"GET (/[^/ ]*)';
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Access log');
    const choice = page.getByLabel('Which part of a line');
    await choice.selectOption({ label: 'A regular expression…' });
    await page.locator('#key-text').fill('(open');
    await page.locator('#key-text').blur();
    await page.locator('#key-effect', { hasText: 'unclosed group' }).waitFor();
    await playground.start();
    await playground.message.filter({ hasText: 'unclosed group' }).waitFor();
    await page.locator('#key-text').fill('nowhere to be found');
    await playground.start();
    await playground.message.filter({ hasText: /No line of access\.log has such a key/ }).waitFor();
    await page.locator('#key-text').fill(expression);
    await page.locator('#key-text').blur();
    await page.locator('#key-preview li', { hasText: /^\/[^/]*$/ }).first().waitFor();
    await assertRunsAs(playground, log, ['--key-regex', expression]);
    const before = await playground.outcomes();

    await page.getByRole('button', { name: 'Copy a link to this setting' }).click();
    await page.locator('#take-said', { hasText: 'The link' }).waitFor();
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
