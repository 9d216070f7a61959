// Plugins of the page's build.

import { createHash } from 'node:crypto';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const SERVICE_WORKER = new URL('./service-worker.js', import.meta.url);
/** Files that shrink when they are compressed. */
const COMPRESSIBLE = /\.(css|html|js|svg|wasm)$/;

/**
 * Writes the service worker with the list of the page's files.
 *
 * @returns {import('vite').Plugin}
 */
export function serviceWorker() {
  return {
    name: 'service-worker',
    apply: 'build',
    async generateBundle(_options, bundle) {
      const files = Object.keys(bundle).filter((name) => name.startsWith('assets/')).sort();
      const version = createHash('sha256').update(files.join('\n'));
      const page = bundle['index.html'];
      if (page?.type === 'asset') {
        version.update(page.source);
      }
      const head = `const FILES = ${JSON.stringify(files)};\nconst VERSION = '${version.digest('hex').slice(0, 16)}';\n`;
      const source = head + (await readFile(SERVICE_WORKER, 'utf8'));
      this.emitFile({ type: 'asset', fileName: 'service-worker.js', source });
    },
  };
}

/**
 * Writes a compressed copy beside each file, for servers that send such copies.
 *
 * @returns {import('vite').Plugin}
 */
export function compressedCopies() {
  return {
    name: 'compressed-copies',
    apply: 'build',
    async writeBundle({ dir = 'dist' }) {
      const names = await readdir(dir, { recursive: true });
      for (const path of names.filter((name) => COMPRESSIBLE.test(name)).map((name) => join(dir, name))) {
        await writeFile(`${path}.gz`, gzipSync(await readFile(path), { level: 9 }));
      }
    },
  };
}
