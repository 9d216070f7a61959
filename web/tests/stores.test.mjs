// Stores: built by the page, continued by the command line, and inspected by the page.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cp, mkdtemp, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startBrowser } from './browser.mjs';
import { SAMPLE_LINES, dedupstore, generateSample } from './command-line.mjs';
import { assertAccessible, assertNotWiderThanWindow, takeScreenshot } from './appearance-checks.mjs';

/** @typedef {import('./playground.mjs').Playground} Playground */

const visit = startBrowser();
/** @type {string} */
let directory;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'dedupstore-stores-'));
});

after(async () => {
  await rm(directory, { recursive: true });
});

/** Downloads the store and unpacks it. @param {Playground} playground */
async function downloadStore(playground) {
  const home = await mkdtemp(join(directory, 'home-'));
  const tar = await playground.download('Download a ready store (.tar)');
  await writeFile(join(home, 'seen.dds.tar'), tar);
  execFileSync('tar', ['xf', 'seen.dds.tar'], { cwd: home });
  return { home, tar: join(home, 'seen.dds.tar'), store: join(home, 'seen.dds') };
}

/** Removes the ages, which change with time. @param {string} report */
function withoutAges(report) {
  return report.replaceAll(/\d+ (s|min|h|d) ago/g, '… ago');
}

/** The report on the page. @param {Playground} playground */
async function shownReport(playground) {
  const report = playground.page.locator('#store-report');
  await report.waitFor();
  return (await report.textContent()) ?? '';
}

/** @param {Playground} playground @param {RegExp} expected */
async function assertRefused(playground, expected) {
  await playground.page.locator('#store-message', { hasText: expected }).waitFor();
  assert.ok(await playground.page.locator('#store-frame').isHidden());
}

/** The error of the command line for a store. @param {string} name */
function inspectError(name) {
  const { status, stderr } = dedupstore(['inspect', name], { cwd: directory });
  assert.equal(status, 2, stderr);
  return stderr.trim().replace(/^dedupstore: /, '').replaceAll('`', '');
}

/** Creates a store from a sample with the command line. @param {string} name */
function createStore(name) {
  const log = generateSample('Crawl');
  const options = ['--filter', 'stable', '--memory', '64KiB', '--seed', '5'];
  const run = dedupstore(['filter', name, ...options], { cwd: directory, input: log });
  assert.equal(run.status, 0, run.stderr);
}

/** @param {string} name @param {string} source */
function createTar(name, source) {
  execFileSync('tar', ['cf', name, source], { cwd: directory });
  return join(directory, name);
}

test('from the page to the command line and back', async () => {
  const log = generateSample('Access log');
  await visit(async (playground) => {
    const { page } = playground;
    await playground.loadSample('Access log');
    await playground.run();
    const rows = await playground.outcomes();
    const chosen = rows.findIndex(({ filter }) => filter.startsWith('stable'));
    const row = rows[chosen];
    assert.ok(row);
    await page.locator('#export-filter').selectOption({ index: chosen });
    const { home, tar, store } = await downloadStore(playground);
    assert.deepEqual((await readdir(store)).sort(), [
      ...['image.0', 'image.1', 'lock', 'log.0', 'log.1', 'mark'],
    ]);

    // The command line's own store for the same log.
    const key = ['--field', '7'];
    const create = ['create', 'own.dds', '--filter', row.filter, '--memory', '8KiB', '--seed', '1'];
    assert.equal(dedupstore([...create, ...key], { cwd: home }).status, 0);
    // Both stores record the key, so that no command names it again.
    assert.equal(dedupstore(['filter', 'own.dds'], { cwd: home, input: log }).status, 0);

    const verified = dedupstore(['verify', 'seen.dds'], { cwd: home });
    assert.deepEqual([verified.status, verified.stdout], [0, '']);
    /** @param {string} name @returns {Record<string, unknown>} */
    const inspected = (name) =>
      JSON.parse(dedupstore(['inspect', name, '--json'], { cwd: home }).stdout);
    const [seen, own] = [inspected('seen.dds'), inspected('own.dds')];
    assert.equal(seen.key, 'field=7');
    const { fp = null, fn = null, distinct = null, repeats = null } = row;
    assert.equal(seen.observations, row.count);
    assert.equal(seen.new, Number(distinct) - Number(fp) + Number(fn));
    assert.equal(seen.seen, Number(repeats) - Number(fn) + Number(fp));
    assert.equal(seen.load, row.load);
    const mayDiffer = /^id$|_unix_seconds$|_age_seconds$|^generation$|^log_used_bytes$|^forecast$/;
    for (const [field, value] of Object.entries(own)) {
      if (!mayDiffer.test(field)) {
        assert.deepEqual(seen[field], value, field);
      }
    }

    // Both give the same verdicts from now on, and refuse another key.
    const other = dedupstore(['filter', 'seen.dds', '--field', '6'], { cwd: home, input: log });
    assert.match(other.stderr, /was created with --field 7, which contradicts --field 6/);
    const added = Array.from({ length: 2000 }, (_, i) => `1 2 3 4 5 6 /page/${i}\n`);
    const keys = added.join('') + log.toString();
    const input = Buffer.from(keys.split('\n').slice(0, 9000).join('\n'));
    for (const command of ['contains', 'filter']) {
      const [one, other] = ['seen.dds', 'own.dds'].map((name) =>
        dedupstore([command, name], { cwd: home, input }),
      );
      assert.ok(one !== undefined && other !== undefined);
      assert.equal(one.status, other.status, one.stderr);
      assert.ok(one.stdout === other.stdout, `${command} differs`);
    }
    assert.equal(inspected('seen.dds').observations, SAMPLE_LINES + 9000);

    // The page inspects the store before and after the command line used it.
    await playground.drop(tar);
    assert.match(await shownReport(playground), /^seen\.dds\n.*\n {2}observations {3}50,000\n/s);
    execFileSync('tar', ['cf', 'grown.tar', 'seen.dds'], { cwd: home });
    await page.locator('#store-report').evaluate((report) => (report.textContent = ''));
    await playground.drop(join(home, 'grown.tar'));
    await page.locator('#store-report', { hasText: '59,000' }).waitFor();
    const printed = dedupstore(['inspect', 'seen.dds'], { cwd: home }).stdout;
    assert.equal(withoutAges(await shownReport(playground)), withoutAges(printed));
    // The log is still the sample.
    assert.match(await page.locator('#log-name').innerText(), /^access\.log/);
  });
});

test('a store with URL clean-up records it', async () => {
  const log = generateSample('Crawl');
  await visit(async (playground) => {
    await playground.loadSample('Crawl');
    await playground.page.getByLabel('Clean up URLs').check();
    await playground.page.locator('#key-effect', { hasText: /clean-up (merges|changes)/ }).waitFor();
    await playground.run();
    await playground.page.locator('#export-filter').selectOption({ index: 0 });
    const [row] = await playground.outcomes();
    assert.ok(row);
    const { home } = await downloadStore(playground);
    const set = ['--filter', row.filter, '--memory', '8KiB', '--seed', '1', '--normalize', 'whatwg'];
    const own = dedupstore(['filter', 'own.dds', ...set], { cwd: home, input: log });
    assert.equal(own.status, 0, own.stderr);
    const of = /** @param {string} name */ (name) => {
      const { stdout } = dedupstore(['inspect', name, '--json'], { cwd: home });
      const { key, normalization, seed, observations, new: fresh, audit } = JSON.parse(stdout);
      return { key, normalization, seed, observations, fresh, audit };
    };
    assert.equal(of('seen.dds').normalization, 'whatwg');
    assert.deepEqual(of('seen.dds'), of('own.dds'));
  });
});

test('a store of every filter, checked by the command line', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    await playground.addAllFilters();
    await playground.loadSample('Click stream');
    await playground.run();
    const rows = await playground.outcomes();
    assert.ok(rows.length >= 15, `${rows.length} filters`);
    for (const [index, row] of rows.entries()) {
      await page.locator('#export-filter').selectOption({ index });
      const { home } = await downloadStore(playground);
      assert.equal(dedupstore(['verify', 'seen.dds'], { cwd: home }).status, 0, row.filter);
      const { stdout } = dedupstore(['inspect', 'seen.dds', '--json'], { cwd: home });
      const { filter, observations, load } = JSON.parse(stdout);
      assert.deepEqual({ filter, observations, load }, {
        filter: row.filter,
        observations: row.count,
        load: row.load,
      });
    }
  });
});

test('a store of the command line: as a tar file, as files, as a directory', async () => {
  createStore('links.dds');
  const tar = createTar('links.tar', 'links.dds');
  const printed = withoutAges(dedupstore(['inspect', 'links.dds'], { cwd: directory }).stdout);
  assert.match(printed, /^links\.dds\n/);
  await visit(async (playground) => {
    const { page } = playground;
    await playground.chooseStore(tar);
    assert.equal(withoutAges(await shownReport(playground)), printed);
    const names = await readdir(join(directory, 'links.dds'));
    await playground.chooseStore(names.map((name) => join(directory, 'links.dds', name)));
    await page.locator('#store-report', { hasText: 'store.dds' }).waitFor();
    assert.equal(withoutAges(await shownReport(playground)), printed.replace('links.dds', 'store.dds'));
    await playground.drop(join(directory, 'links.dds'));
    await page.locator('#store-report', { hasText: 'links.dds' }).waitFor();
    assert.equal(withoutAges(await shownReport(playground)), printed);
    for (const format of ['ustar', 'pax', 'gnu', 'v7']) {
      const options = ['--format', format, '-cf', `${format}.tar`, './links.dds'];
      execFileSync('tar', options, { cwd: directory });
      await playground.chooseStore(join(directory, `${format}.tar`));
      await page.locator('#store-frame[aria-busy="false"]').waitFor();
      assert.equal(withoutAges(await shownReport(playground)), printed, format);
    }
  });
});

test('damaged stores, truncated tar files and other files are reported', async () => {
  createStore('whole.dds');
  const damaged = /** @param {string} name */ async (name) => {
    await cp(join(directory, 'whole.dds'), join(directory, name), { recursive: true });
    return (/** @type {string} */ file) => join(directory, name, file);
  };
  const flipped = await damaged('flipped.dds');
  for (const image of ['image.0', 'image.1']) {
    const bytes = await readFile(flipped(image));
    bytes.writeUInt8(bytes.readUInt8(300) ^ 1, 300);
    await writeFile(flipped(image), bytes);
  }
  const short = await damaged('short.dds');
  await truncate(short('log.1'), 5000);
  const incomplete = await damaged('incomplete.dds');
  await rm(incomplete('mark'));
  const newer = await damaged('newer.dds');
  for (const image of ['image.0', 'image.1']) {
    await writeFile(newer(image), Buffer.alloc((await readFile(newer(image))).length, 'x'));
  }

  await visit(async (playground) => {
    const { page } = playground;
    for (const name of ['flipped.dds', 'short.dds', 'incomplete.dds', 'newer.dds']) {
      await playground.chooseStore(createTar(`${name}.tar`, name));
      const message = page.locator('#store-message', { hasText: name });
      await message.waitFor();
      assert.equal(await message.textContent(), inspectError(name));
    }

    const whole = await readFile(createTar('whole.tar', 'whole.dds'));
    const cut = join(directory, 'cut.tar');
    for (const bytes of [700, 5000, 200_000]) {
      await writeFile(cut, whole.subarray(0, bytes));
      await playground.chooseStore(cut);
      await assertRefused(playground, /cut\.tar is truncated: it ends in the middle of (a|whole)/);
    }
    const broken = Buffer.from(whole);
    broken.write('garbage', 512 + 140);
    await writeFile(cut, broken);
    await playground.chooseStore(cut);
    await assertRefused(playground, /cut\.tar is damaged: there is no valid file header at byte 512/);

    const notes = join(directory, 'notes.txt');
    await writeFile(notes, 'nothing to see\n'.repeat(100));
    await playground.chooseStore(createTar('notes.tar', 'notes.txt'));
    await assertRefused(playground, /notes\.tar is not a store: it has no file image\.0/);
    await writeFile(join(directory, 'paper.pdf'), '%PDF-1.7\n');
    await playground.chooseStore(join(directory, 'paper.pdf'));
    await assertRefused(playground, /^paper\.pdf is not a store/);
    await writeFile(join(directory, 'text.tar'), 'nothing to see\n'.repeat(100));
    await playground.chooseStore(join(directory, 'text.tar'));
    await assertRefused(playground, /text\.tar is not a tar file/);
    await writeFile(join(directory, 'empty.tar'), '');
    await playground.chooseStore(join(directory, 'empty.tar'));
    await assertRefused(playground, /empty\.tar is not a tar file/);
    execFileSync('tar', ['cf', 'two.tar', 'whole.dds', 'short.dds'], { cwd: directory });
    await playground.chooseStore(join(directory, 'two.tar'));
    await assertRefused(playground, /several stores \(whole\.dds, short\.dds\)/);

    // The page works afterwards.
    await playground.chooseStore(join(directory, 'whole.tar'));
    assert.match(await shownReport(playground), /^whole\.dds\n/);
    assert.equal(await page.locator('#store-message').textContent(), '');
    await playground.loadSample();
    await playground.run();
    assert.equal((await playground.outcomes())[0]?.count, SAMPLE_LINES);
  });
});

test('a store that is too large for the page, and one that is cancelled', async () => {
  await visit(async (playground) => {
    const { page } = playground;
    const button = page.locator('#export-store');
    // Set before any worker ends: a route that is set while one ends never returns.
    let isBlocked = false;
    await page.route('**/store.worker*', (route) => (isBlocked ? undefined : route.continue()));
    await page.getByText('Paste lines').click();
    await page.getByLabel('Lines to use').fill('a\nb\na\n');
    await page.getByRole('button', { name: 'Use these lines' }).click();
    await playground.examined();
    const remove = page.getByRole('button', { name: /^Remove/ });
    while ((await remove.count()) > 1) {
      await remove.first().click();
    }
    await playground.setMemory(300, 'MiB');
    await playground.run();
    await button.click();
    await page.locator('#export-store-status', { hasText: /needs 1\.\d+ GiB of disk.*up to 1 GiB/ }).waitFor();

    await playground.setMemory(8, 'KiB');
    await playground.run();
    // The worker's script never loads, so that the build can be cancelled.
    isBlocked = true;
    await button.click();
    await page.getByRole('button', { name: 'Stop building' }).click();
    await button.filter({ hasText: 'Download a ready store (.tar)' }).waitFor();
    isBlocked = false;
    const { home } = await downloadStore(playground);
    const { stdout } = dedupstore(['inspect', 'seen.dds', '--json'], { cwd: home });
    const { observations, new: fresh } = JSON.parse(stdout);
    assert.deepEqual([observations, fresh], [3, 2]);
  });
});

for (const [colorScheme, width] of /** @type {const} */ ([
  ['light', 1280],
  ['dark', 390],
])) {
  test(`the report of a store: ${colorScheme}, ${width} pixels wide`, async () => {
    const store = fileURLToPath(new URL('../../fixtures/stores/version-1-bloom.dds', import.meta.url));
    const files = (await readdir(store)).map((name) => join(store, name));
    await visit(
      async (playground) => {
        await playground.chooseStore(files);
        assert.match(await shownReport(playground), /^store\.dds\n/);
        await assertAccessible(playground.page);
        await assertNotWiderThanWindow(playground.page);
        await takeScreenshot(playground.page, `store-${colorScheme}-${width}`);
        await playground.chooseStore(files.slice(1));
        await assertRefused(playground, /store\.dds lacks the file/);
        await assertAccessible(playground.page);
        await assertNotWiderThanWindow(playground.page);
      },
      { colorScheme, width },
    );
  });
}
