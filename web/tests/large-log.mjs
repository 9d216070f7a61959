// Generates a large log and measures the run: time, memory, and response to input.

import { spawn, spawnSync } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { program } from './command-line.mjs';

/** The average length of a line, in bytes. */
const LINE_BYTES = 57;

/**
 * Writes a log of about this size.
 *
 * @param {string} path
 * @param {number} megabytes
 */
export async function writeLargeLog(path, megabytes) {
  const count = Math.ceil((megabytes * 1e6) / LINE_BYTES);
  const options = ['generate', 'crawl:200:50000', '--seed', '5', '--count', `${count}`];
  const child = spawn(program, options, { stdio: ['ignore', 'pipe', 'inherit'] });
  await pipeline(child.stdout, createWriteStream(path));
  return (await stat(path)).size;
}

/**
 * Returns the seconds that the command line takes.
 *
 * @param {string} path
 * @param {string[]} filters
 * @param {number} memoryBits
 */
export function nativeSeconds(path, filters, memoryBits) {
  const chosen = filters.flatMap((filter) => ['--filter', filter]);
  const options = ['simulate', path, '--json', '--memory-bits', `${memoryBits}`, ...chosen];
  const started = performance.now();
  const { status } = spawnSync(program, options, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) {
    throw new Error(`dedupstore exited with ${status}`);
  }
  return (performance.now() - started) / 1000;
}

/** Records the peak memory of the tab's process, in bytes; 0 without /proc. */
export class MemoryWatch {
  /** @type {string[]} */
  #files = [];
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  peak = 0;

  /** @param {import('playwright-core').Page} page */
  static async of(page) {
    const watch = new MemoryWatch();
    const session = await page.context().browser()?.newBrowserCDPSession();
    const found = await session?.send('SystemInfo.getProcessInfo');
    const renderers = (found?.processInfo ?? []).filter(({ type }) => type === 'renderer');
    watch.#files = renderers.map(({ id }) => `/proc/${id}/status`);
    return watch;
  }

  /** The memory of the largest renderer, which is that of the page. */
  async now() {
    const sizes = this.#files.map(async (file) => {
      const text = await readFile(file, 'utf8').catch(() => '');
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1024;
    });
    return Math.max(0, ...(await Promise.all(sizes)));
  }

  start() {
    this.#timer = setInterval(async () => {
      this.peak = Math.max(this.peak, await this.now());
    }, 100);
  }

  stop() {
    clearInterval(this.#timer);
  }
}

/**
 * Makes the page record how long each key press and click waits for the next frame.
 *
 * @param {import('playwright-core').Page} page
 */
export async function recordWaits(page) {
  await page.evaluate(() => {
    /** @type {{ type: string, milliseconds: number }[]} */
    const waits = [];
    Object.assign(window, { waits });
    for (const type of ['keydown', 'click']) {
      addEventListener(
        type,
        ({ timeStamp }) => {
          requestAnimationFrame(() => {
            // After the frame's own work.
            const channel = new MessageChannel();
            channel.port1.onmessage = () => {
              waits.push({ type, milliseconds: performance.now() - timeStamp });
            };
            channel.port2.postMessage(null);
          });
        },
        { capture: true },
      );
    }
  });
}

/**
 * @param {import('playwright-core').Page} page
 * @returns {Promise<{ type: string, milliseconds: number }[]>}
 */
export function recordedWaits(page) {
  return page.evaluate(() => /** @type {*} */ (window).waits);
}
