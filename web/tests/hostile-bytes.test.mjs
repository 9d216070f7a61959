// Hostile bytes for what the page itself parses: tar files, and links with settings. The modules run
// in Node.js; mutations follow from a seed.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import ts from 'typescript';

const TARS = 2000;
const LINKS = 20000;

/** Imports a module of the page that imports nothing but types. @param {string} path */
async function moduleOf(path) {
  const source = await readFile(new URL(`../src/${path}`, import.meta.url), 'utf8');
  const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  const { outputText } = ts.transpileModule(source, { compilerOptions: options });
  return import(`data:text/javascript,${encodeURIComponent(outputText)}`);
}

/** Returns numbers below a limit (mulberry32). @param {number} seed */
function randomNumbers(seed) {
  let state = seed;
  return (/** @type {number} */ limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}

/** Makes the checksum of a header right. @param {Uint8Array} header */
function seal(header) {
  header.fill(0x20, 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.set(new TextEncoder().encode(`${sum.toString(8).padStart(6, '0')}\0 `), 148);
}

test('forged tar files are read or refused, and no content is outside the file', async () => {
  const { readTar, writeTar } = await moduleOf('worker/tar.ts');
  const files = ['image.0', 'image.1', 'mark'].map((name, index) => ({
    name,
    content: new Blob([new Uint8Array(700 * index)]),
  }));
  const valid = new Uint8Array(await writeTar('links.dds', files).arrayBuffer());
  const below = randomNumbers(7);
  const sizes = ['00000000000', '77777777777', '-0000000001', '00000001000', '0000000000x'];
  let accepted = 0;
  for (let number = 0; number < TARS; number += 1) {
    const tar = valid.slice(0, below(8) === 0 ? below(valid.length) : valid.length);
    const start = 512 * below(4);
    const header = tar.subarray(start, start + 512);
    for (let change = below(4); change > 0 && header.length > 0; change -= 1) {
      header[below(header.length)] = below(256);
    }
    if (below(2) === 0 && header.length === 512) {
      header.set(new TextEncoder().encode(sizes[below(sizes.length)]), 124);
      header[156] = 'Lx05'.charCodeAt(below(4));
    }
    if (below(4) === 0 && header.length === 512) {
      header[124] = 0x80;
      header[125 + below(11)] = below(256);
    }
    if (below(4) > 0 && header.length === 512) {
      seal(header);
    }
    try {
      /** @type {{ path: string, content: Blob }[]} */
      const found = await readTar(new Blob([tar]), 'forged.tar');
      const bytes = found.reduce((total, { content }) => total + content.size, 0);
      assert.ok(bytes <= tar.length, `${bytes} bytes of ${tar.length}`);
      assert.ok(found.every(({ path }) => typeof path === 'string' && path.length <= 64 << 10));
      accepted += 1;
    } catch (error) {
      assert.ok(error instanceof Error && error.message.startsWith('forged.tar '), String(error));
    }
  }
  assert.ok(accepted > TARS / 20 && accepted < TARS, `${accepted} of ${TARS} were accepted`);
});

test('a tar file of many empty files is refused', async () => {
  const { readTar, writeTar } = await moduleOf('worker/tar.ts');
  const empty = Array.from({ length: 1500 }, (_, index) => ({
    name: String(index),
    content: new Blob([]),
  }));
  await assert.rejects(readTar(writeTar('many', empty), 'many.tar'), /more than 1000 files/);
});

test('forged links give settings of the right types, or none', async () => {
  const { readLink, writeLink } = await moduleOf('setup/share-link.ts');
  const below = randomNumbers(11);
  const names =
    'memory_bits seed filter sample one_key_in first_lines field delimiter json_key key_regex ' +
    'normalize importance max_fpr max_fnr cost_fp cost_fn prefer';
  const words = [...names.split(' '), '=', '&', '%', '%zz', '1e999', '-1', 'NaN', '9'.repeat(30)];
  words.push('constructor', '__proto__', '<script>', '1,2', '\0', 'bloom:k=4', '0.5');
  for (let number = 0; number < LINKS; number += 1) {
    let link = 'https://page.example/#';
    for (let count = below(8); count > 0; count -= 1) {
      link += `${words[below(words.length)]}${['=', '&', ''][below(3)]}`;
    }
    const settings = readLink(link);
    if (settings === null) {
      continue;
    }
    for (const value of [settings.memoryBits, settings.seed]) {
      assert.ok(value === null || Number.isFinite(value), link);
    }
    assert.ok(settings.filters.every((/** @type {unknown} */ it) => typeof it === 'string'), link);
    // The link of the settings gives the same settings; it omits what is not understood.
    const again = readLink(writeLink('https://page.example/', settings));
    if (again !== null) {
      assert.deepEqual(again, { ...settings, unknown: [] }, link);
    }
  }
});
