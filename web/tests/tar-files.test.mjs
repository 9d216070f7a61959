// Tar files: a store in one is looked into, packed or not; as a log it is refused in words.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { stage } from './browser.mjs';
import { dedupstore, generated } from './command-line.mjs';

const visit = stage();
/** @type {string} */
let folder;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dedupstore-tars-'));
  const options = ['filter', 'links.dds', '--filter', 'stable', '--memory', '64KiB'];
  const { status, stderr } = dedupstore(options, { cwd: folder, input: generated('Crawl') });
  assert.equal(status, 0, stderr);
  await writeFile(join(folder, 'crawl.log'), generated('Crawl'));
});

after(() => rm(folder, { recursive: true }));

/** @param {string} name @param {string[]} files */
function packed(name, files) {
  execFileSync('tar', [name.endsWith('z') ? 'czf' : 'cf', name, ...files], { cwd: folder });
  return join(folder, name);
}

test('a store in a packed tar is dropped, and a tar that holds none', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const report = page.locator('#store-report');
    for (const name of ['links.tgz', 'links.dds.tar.gz']) {
      await playground.drop(packed(name, ['links.dds']));
      await page.locator('#store-report', { hasText: /^links\.dds\n/ }).waitFor();
      assert.match((await report.textContent()) ?? '', /stable:k=2/);
      await playground.drop(packed('logs.tar.gz', ['crawl.log']));
      const said = page.locator('#store-message', { hasText: /logs\.tar\.gz is not a store/ });
      await said.waitFor();
      assert.ok(await page.locator('#store-frame').isHidden());
    }
    assert.equal(await page.locator('#log-name').innerText(), 'No log yet.');
    await writeFile(join(folder, 'wrong.tgz'), 'nothing to see\n'.repeat(100));
    await playground.chooseStore(join(folder, 'wrong.tgz'));
    await page.locator('#store-message', { hasText: /wrong\.tgz is no tar file/ }).waitFor();
  });
});

test('a tar chosen as a log is refused, by its first look, by a run and by advice', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const refusal = /is a tar of files, not a log/;
    for (const name of ['logs.tar', 'logs.tgz']) {
      await playground.choose(packed(name, ['crawl.log']));
      const looked = page.getByRole('region', { name: 'Key', exact: true });
      await looked.filter({ hasText: `${name} is a tar` }).waitFor();
      await playground.start();
      await playground.message.filter({ hasText: `${name} is a tar` }).waitFor();
      assert.ok(await page.locator('#outcomes').isHidden());
    }
    await page.getByRole('button', { name: 'Ask for advice' }).click();
    await playground.message.filter({ hasText: refusal }).waitFor();
    await playground.choose(join(folder, 'crawl.log'));
    await playground.examined();
    await playground.run();
    assert.ok(await playground.message.isHidden());
  });
});

test('a store is made after a run that was cancelled, and has met all of the log', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample();
    await playground.setSpeed(2000);
    await playground.start();
    const button = page.locator('#take-store');
    await page.locator('#take-store-said', { hasText: 'once the run is over' }).waitFor();
    assert.ok(await button.isDisabled());
    await page.getByRole('button', { name: 'Cancel' }).click();
    assert.match(await playground.status.innerText(), /^Cancelled after/);
    assert.ok(await button.isEnabled());
    assert.equal(await page.locator('#take-store-said').innerText(), '');
    const tar = await playground.download('A store that has met this log, as tar');
    await writeFile(join(folder, 'seen.dds.tar'), tar);
    execFileSync('tar', ['xf', 'seen.dds.tar'], { cwd: folder });
    const last = generated('Crawl').toString().trimEnd().split('\n').at(-1) ?? '';
    const { stdout } = dedupstore(['contains', 'seen.dds', last], { cwd: folder });
    assert.equal(stdout.split('\t')[0], 'seen');
  });
});
