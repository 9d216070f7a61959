// Tar files: a store in one is inspected, compressed or not; as a log it is refused.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { dedupstore, generateSample } from './command-line.mjs';

const visit = startBrowser();
/** @type {string} */
let directory;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'dedupstore-tars-'));
  const options = ['filter', 'links.dds', '--filter', 'stable', '--memory', '64KiB'];
  const { status, stderr } = dedupstore(options, { cwd: directory, input: generateSample('Crawl') });
  assert.equal(status, 0, stderr);
  await writeFile(join(directory, 'crawl.log'), generateSample('Crawl'));
});

after(() => rm(directory, { recursive: true }));

/** @param {string} name @param {string[]} files */
function createTar(name, files) {
  execFileSync('tar', [name.endsWith('z') ? 'czf' : 'cf', name, ...files], { cwd: directory });
  return join(directory, name);
}

test('compressed tar files with and without a store are dropped', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const report = page.locator('#store-report');
    for (const name of ['links.tgz', 'links.dds.tar.gz']) {
      await playground.drop(createTar(name, ['links.dds']));
      await page.locator('#store-report', { hasText: /^links\.dds\n/ }).waitFor();
      assert.match((await report.textContent()) ?? '', /stable:k=2/);
      await playground.drop(createTar('logs.tar.gz', ['crawl.log']));
      await page.locator('#store-message', { hasText: /logs\.tar\.gz is not a store/ }).waitFor();
      assert.ok(await page.locator('#store-frame').isHidden());
    }
    assert.match(await page.locator('#log-name').innerText(), /^crawl\.log/);
    await writeFile(join(directory, 'wrong.tgz'), 'nothing to see\n'.repeat(100));
    await playground.chooseStore(join(directory, 'wrong.tgz'));
    await page.locator('#store-message', { hasText: /wrong\.tgz is not a tar file/ }).waitFor();
  });
});

test('a tar file chosen as a log is refused when it is examined, run, and for advice', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const refusal = /is a tar file, not a log/;
    for (const name of ['logs.tar', 'logs.tgz']) {
      await playground.choose(createTar(name, ['crawl.log']));
      await page.locator('#log-error', { hasText: `${name} is a tar` }).waitFor();
      await playground.start();
      await playground.message.filter({ hasText: `${name} is a tar` }).waitFor();
      await playground.assertOutdated();
    }
    await page.getByRole('button', { name: 'Get advice' }).click();
    await playground.message.filter({ hasText: refusal }).waitFor();
    await playground.choose(join(directory, 'crawl.log'));
    await playground.examined();
    await playground.run();
    assert.ok(await playground.message.isHidden());
  });
});

test('a store that is built after a cancelled run has observed the whole log', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample();
    await playground.setSpeed(2000);
    await playground.start();
    const button = page.locator('#export-store');
    await page.locator('#export-store-status', { hasText: 'when the run has ended' }).waitFor();
    assert.ok(await button.isDisabled());
    await page.getByRole('button', { name: 'Cancel' }).click();
    assert.match(await playground.status.innerText(), /^Cancelled after/);
    assert.ok(await button.isEnabled());
    assert.equal(await page.locator('#export-store-status').innerText(), '');
    const tar = await playground.download('Download a ready store (.tar)');
    await writeFile(join(directory, 'seen.dds.tar'), tar);
    execFileSync('tar', ['xf', 'seen.dds.tar'], { cwd: directory });
    const last = generateSample('Crawl').toString().trimEnd().split('\n').at(-1) ?? '';
    const { stdout } = dedupstore(['contains', 'seen.dds', last], { cwd: directory });
    assert.equal(stdout.split('\t')[0], 'seen');
  });
});
