// The page as a visitor uses it.

import { COMPARED, SAMPLES } from './command-line.mjs';

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

  /** @param {import('./command-line.mjs').SampleName} [title] */
  async loadSample(title = 'Crawl') {
    await this.page.getByRole('button', { name: title, exact: true }).click();
    await this.page.locator('#log-name', { hasText: SAMPLES[title].name }).waitFor();
    await this.examined();
  }

  /** The first lines of the log have been looked at. */
  async examined() {
    await this.page.locator('#key-preview li').first().waitFor();
  }

  /** The text of a download that a click starts. @param {string} button */
  async download(button) {
    const started = this.page.waitForEvent('download');
    await this.page.getByRole('button', { name: button, exact: true }).click();
    const stream = await (await started).createReadStream();
    /** @type {Buffer[]} */
    const parts = [];
    for await (const part of stream) {
      parts.push(part);
    }
    return Buffer.concat(parts);
  }

  /** @param {string | { name: string, mimeType: string, buffer: Buffer }} file */
  async choose(file) {
    await this.page.locator('#log-file').setInputFiles(file);
  }

  /** Chooses a store to look into: a tar, or all its files. @param {string | string[]} files */
  async chooseStore(files) {
    await this.page.locator('#store-file').setInputFiles(files);
  }

  /**
   * Drags a file from outside the browser over the page and lets it go.
   *
   * @param {string} path
   */
  async drop(path) {
    await this.page.locator('#drop').scrollIntoViewIfNeeded();
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

  /** Before a run starts; 0 is full speed. @param {number} linesASecond */
  async setSpeed(linesASecond) {
    await this.page.getByLabel('Speed').evaluate((select, value) => {
      if (select instanceof HTMLSelectElement) {
        select.value = value;
      }
    }, `${linesASecond}`);
  }

  async start() {
    await this.page.getByRole('button', { name: 'Run', exact: true }).click();
  }

  async run() {
    await this.start();
    await this.finished();
  }

  /** The sample run, and the map of its filters drawn; returns these. */
  async drawMapOfSample() {
    await this.loadSample();
    await this.run();
    const filters = (await this.outcomes()).map(({ filter }) => filter);
    await this.page.getByRole('button', { name: 'Draw the map' }).click();
    await this.page.locator('.map-point').first().waitFor();
    return filters;
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
