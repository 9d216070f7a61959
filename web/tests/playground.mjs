// The page as a visitor uses it.

import { COMPARED } from './command-line.mjs';

/** @typedef {import('./command-line.mjs').Outcome} Outcome */

export class Playground {
  /** @param {import('playwright-core').Page} page */
  constructor(page) {
    this.page = page;
    this.message = page.getByRole('alert');
    this.status = page.locator('#status');
  }

  /** The form is made from the registry, which comes with the engine. */
  async ready() {
    await this.page.locator('.filter-card').first().waitFor();
  }

  async loadSample() {
    await this.page.getByRole('button', { name: 'Load the sample' }).click();
    await this.page.locator('#log-name', { hasText: 'sample.log' }).waitFor();
  }

  /** @param {string | { name: string, mimeType: string, buffer: Buffer }} file */
  async choose(file) {
    await this.page.locator('#log-file').setInputFiles(file);
  }

  /**
   * Drags a file from outside the browser over the page and lets it go.
   *
   * @param {string} path
   */
  async drop(path) {
    const box = await this.page.locator('#drop').boundingBox();
    if (box === null) {
      throw new Error('there is nowhere to drop a file');
    }
    const session = await this.page.context().newCDPSession(this.page);
    const where = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    const data = { items: [], files: [path], dragOperationsMask: 1 };
    for (const type of /** @type {const} */ (['dragEnter', 'dragOver', 'drop'])) {
      await session.send('Input.dispatchDragEvent', { type, ...where, data });
    }
  }

  /**
   * @param {number} size
   * @param {'B' | 'KiB' | 'MiB' | 'GiB'} unit
   */
  async setMemory(size, unit) {
    await this.page.getByLabel('Memory of each filter', { exact: true }).fill(`${size}`);
    await this.page.getByLabel('Unit of memory').selectOption(unit);
  }

  /** @param {number} seed */
  async setSeed(seed) {
    await this.page.getByLabel('Seed').fill(`${seed}`);
  }

  async start() {
    await this.page.getByRole('button', { name: 'Run' }).click();
  }

  async run() {
    await this.start();
    await this.finished();
  }

  async finished() {
    await this.page.locator('#progress').waitFor({ state: 'hidden' });
    await this.page.locator('#outcomes tbody tr').first().waitFor();
  }

  /** The results as the table holds them. @returns {Promise<Outcome[]>} */
  async outcomes() {
    return this.page.locator('#outcomes tbody tr').evaluateAll((rows, columns) => {
      return rows.map((row) => {
        const values = columns.map((column) => {
          const text = row.querySelector(`[data-column="${column}"]`)?.getAttribute('data-value');
          return [column, text ? Number(text) : null];
        });
        return { filter: row.getAttribute('data-filter'), ...Object.fromEntries(values) };
      });
    }, COMPARED);
  }
}
