// A large log, made on the spot, and what its run costs: here, in the page, in memory.

import { spawn, spawnSync } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { program } from './command-line.mjs';

/** Bytes of a line of the log below, about. */
const LINE_BYTES = 57;

/**
 * Writes a crawl's log of about so many megabytes.
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
 * How long the command line takes for a log, in seconds.
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
    throw new Error(`dedupstore ended with ${status}`);
  }
  return (performance.now() - started) / 1000;
}

/** The largest the tab's process has been, in bytes. Where /proc is not, nothing. */
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

  /** Of the renderers the one that holds the page, which is the largest. */
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
 * Has the page note how long each key press and click waits for the frame that follows it.
 *
 * @param {import('playwright-core').Page} page
 */
export async function noteWaits(page) {
  await page.evaluate(() => {
    /** @type {{ type: string, milliseconds: number }[]} */
    const waits = [];
    Object.assign(window, { waits });
    for (const type of ['keydown', 'click']) {
      addEventListener(
        type,
        ({ timeStamp }) => {
          requestAnimationFrame(() => {
            // Behind the frame's own work.
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
export function notedWaits(page) {
  return page.evaluate(() => /** @type {*} */ (window).waits);
}
