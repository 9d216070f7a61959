// The printed commands work as they are, for every kind of log.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { program } from './command-line.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = startBrowser();
/** @type {string} */
let directory;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'dedupstore-commands-'));
  await symlink(program, join(directory, 'dedupstore'));
});

after(() => rm(directory, { recursive: true }));

/**
 * Runs the commands of the selected filter in a new directory, in which there may be a file, and
 * compares the lines that they deliver with the results on the page.
 *
 * @param {Playground} playground
 * @param {string} [name]
 * @param {string} [content]
 */
async function assertCommandsDeliver(playground, name, content = '') {
  await playground.finished();
  const home = await mkdtemp(join(directory, 'home-'));
  if (name !== undefined) {
    await writeFile(join(home, name), content);
  }
  const commands = await playground.page.locator('#export-commands').innerText();
  const filter = await playground.page.locator('#export-filter option:checked').innerText();
  const outcome = (await playground.outcomes()).find((it) => it.filter === filter);
  const path = `${directory}${delimiter}${process.env.PATH ?? ''}`;
  execFileSync('sh', ['-e', '-c', `${commands} > delivered`], {
    cwd: home,
    env: { ...process.env, PATH: path },
    stdio: 'ignore',
  });
  const delivered = (await readFile(join(home, 'delivered'), 'utf8')).trimEnd().split('\n');
  const expected = (outcome?.distinct ?? 0) - (outcome?.fp ?? 0) + (outcome?.fn ?? 0);
  assert.ok(expected > 0, `${filter}: ${JSON.stringify(outcome)}`);
  assert.equal(delivered.length, expected, commands);
}

const LINES = Array.from({ length: 400 }, (_, i) => `https://a.example/${(i * 7) % 130}\n`).join('');

test('commands for samples, pasted lines, and a file whose name looks like an option', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await assertCommandsDeliver(playground);
    for (const sample of /** @type {const} */ (['Access log', 'Click stream'])) {
      await playground.loadSample(sample);
      await assertCommandsDeliver(playground);
    }
    await playground.choose({ name: '--x', mimeType: 'text/plain', buffer: Buffer.from(LINES) });
    await page.locator('#answer-scope', { hasText: /^--x, / }).waitFor();
    await assertCommandsDeliver(playground, '--x', LINES);
    await page.getByText('Paste lines').click();
    await page.getByLabel('Lines to use').fill(LINES);
    await page.getByRole('button', { name: 'Use these lines' }).click();
    await page.locator('#answer-scope', { hasText: /^pasted lines, / }).waitFor();
    assert.match(await page.locator('#export-commands').innerText(), /^# Save the pasted lines as pasted-lines\.txt\.\n/);
    await assertCommandsDeliver(playground, 'pasted-lines.txt', LINES);
  });
});

test('the filters of the page have the defaults of the command line', async () => {
  const store = join(directory, 'default.dds');
  const created = execFileSync(program, ['create', store, '--memory', '64KiB']).toString();
  const [, filter] = /^created [^:]+: (\S+) in /.exec(created) ?? [];
  await visit(async (playground) => {
    const filters = (await playground.outcomes()).map((outcome) => outcome.filter);
    assert.ok(filters.includes(filter ?? created), `${filter} is not among ${filters}`);
    // A filter without parameters is completed with its defaults.
    const named = filters.flatMap((it) => ['--filter', it.split(':')[0] ?? '']);
    const lines = execFileSync(program, ['simulate', '--json', '--memory', '8KiB', ...named], { input: LINES });
    const printed = lines.toString().trimEnd().split('\n').map((line) => JSON.parse(line).filter);
    assert.deepEqual(printed, filters);
  });
});

test('numbers that mean nothing are not shown, and one of a thing is singular', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const short = page.locator('#outcomes [data-column="ns_per_observation"]');
    // The sample ends before a time per line could be measured.
    assert.deepEqual([...new Set(await short.allTextContents())], ['–']);
    for (const [name, content, expected] of /** @type {const} */ ([
      ['one.txt', 'a\n', 'one.txt: 1 line, 1 distinct key, 0 repeats.'],
      ['twice.txt', 'a\na\n', 'twice.txt: 2 lines, 1 distinct key, 1 repeat.'],
    ])) {
      await playground.choose({ name, mimeType: 'text/plain', buffer: Buffer.from(content) });
      await playground.status.filter({ hasText: expected }).waitFor();
      const text = await page.locator('main').innerText();
      assert.doesNotMatch(text, /\b1 (lines|keys|repeats|filters|URLs|new keys|distinct keys)\b/);
    }
    assert.match(await page.locator('#answer-sentence').innerText(), /would drop none of 1 new key and let no repeat through\.$/);
  });
});

test('counts that may be too low by more than themselves are left out', async () => {
  // More keys than are counted one by one.
  const lines = Array.from({ length: 120_000 }, (_, i) => (i % 40 === 0 ? 'often\n' : `key ${(i * 7919) % 90_000}\n`));
  await visit(async (playground) => {
    const { page } = playground;
    await playground.choose({ name: 'wide.txt', mimeType: 'text/plain', buffer: Buffer.from(lines.join('')) });
    await playground.status.filter({ hasText: /^wide\.txt: 120,000 lines/ }).waitFor();
    const note = await page.locator('#top-note').innerText();
    const [, error = ''] = /counts may be too low by up to ([\d,]+)\.$/.exec(note) ?? [];
    const most = Number(error.replaceAll(',', ''));
    assert.ok(most > 0, note);
    const counts = await page.locator('#top-keys tbody tr td:nth-child(2)').allInnerTexts();
    assert.ok(counts.length >= 1 && counts.every((count) => Number(count.replaceAll(',', '')) >= most), `${note} ${counts}`);
  });
});
