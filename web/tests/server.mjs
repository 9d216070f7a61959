// Serves the built page, the engine's bindings for tests that call the engine directly, and
// reports that tests wrote.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const web = fileURLToPath(new URL('..', import.meta.url));

/** Directories by the first part of the path. */
const DIRECTORIES = new Map([
  ['bindings', join(web, 'src/wasm')],
  ['reports', join(web, 'test-output')],
  ['', join(web, 'dist')],
]);

const TYPES = new Map([
  ['.css', 'text/css'],
  ['.html', 'text/html'],
  ['.js', 'text/javascript'],
  ['.log', 'text/plain'],
  ['.svg', 'image/svg+xml'],
  ['.wasm', 'application/wasm'],
]);

/** @param {string} address */
function fileOf(address) {
  const path = normalize(decodeURIComponent(new URL(address, 'http://page').pathname));
  const [, first = '', ...rest] = path.split('/');
  const directory = DIRECTORIES.get(first);
  return directory !== undefined && first !== ''
    ? join(directory, ...rest)
    : join(DIRECTORIES.get('') ?? '', path === '/' ? 'index.html' : path);
}

/** @returns {Promise<{ origin: string, requests: string[], close(): void }>} */
export async function serve() {
  /** @type {string[]} */
  const requests = [];
  const server = createServer(async (request, response) => {
    try {
      requests.push(request.url ?? '/');
      const file = fileOf(request.url ?? '/');
      const content = await readFile(file);
      const type = TYPES.get(extname(file)) ?? 'application/octet-stream';
      // As docs/HOSTING.md says.
      const isHashed = request.url?.startsWith('/assets/') ?? false;
      const cache = isHashed ? 'public, max-age=31536000, immutable' : 'no-cache';
      response.writeHead(200, { 'content-type': type, 'cache-control': cache }).end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const address = server.address();
  if (address === null || typeof address === 'string') {
    throw new Error('the server has no port');
  }
  return {
    origin: `http://127.0.0.1:${address.port}`,
    requests,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
