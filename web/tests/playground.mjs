// Uses the page like a user.

import { COMPARED, SAMPLES } from './command-line.mjs';

/** @typedef {import('./command-line.mjs').Outcome} Outcome */
/** @typedef {{ name: string, mimeType: string, buffer: Buffer }} UploadedFile */

export class Playground {
  /** @param {import('playwright-core').Page} page */
  constructor(page) {
    this.page = page;
    this.message = page.getByRole('alert');
    this.status = page.locator('#status');
  }

  /** Waits until the engine is loaded: the form lists its filters. */
  async ready() {
    await this.page.locator('.filter-card').first().waitFor();
  }

  /** @param {import('./command-line.mjs').SampleName} [title] */
  async loadSample(title = 'Crawl') {
    await this.page.getByRole('button', { name: title, exact: true }).click();
    await this.page.locator('#log-name', { hasText: SAMPLES[title].name }).waitFor();
    await this.examined();
  }

  /** Waits until the log has been examined. */
  async examined() {
    await this.page.locator('#key-preview li').first().waitFor();
  }

  /** Clicks a button and returns the file that it downloads. @param {string} button */
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

  /**
   * Chooses a log: a file, or several.
   *
   * @param {string | UploadedFile | UploadedFile[]} file
   */
  async choose(file) {
    await this.page.locator('#log-file').setInputFiles(file);
  }

  /** Chooses a store to inspect: a tar file, or all its files. @param {string | string[]} files */
  async chooseStore(files) {
    await this.page.locator('#store-file').setInputFiles(files);
  }

  /**
   * Drops a file from outside the browser onto the page.
   *
   * @param {string} path
   */
  async drop(path) {
    await this.page.locator('#drop').scrollIntoViewIfNeeded();
    const box = await this.page.locator('#drop').boundingBox();
    if (box === null) {
      throw new Error('the drop area is not visible');
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

  /** Sets the speed before a run starts; 0 is full speed. @param {number} linesPerSecond */
  async setSpeed(linesPerSecond) {
    await this.page.getByLabel('Speed').evaluate((select, value) => {
      if (select instanceof HTMLSelectElement) {
        select.value = value;
      }
    }, `${linesPerSecond}`);
  }

  async start() {
    await this.page.getByRole('button', { name: 'Run', exact: true }).click();
  }

  async run() {
    await this.start();
    await this.finished();
  }

  /** Runs the sample and draws the map of its filters; returns the filters. */
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

  /** The results in the table. @returns {Promise<Outcome[]>} */
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
