// Uses the page like a user.

import assert from 'node:assert/strict';
import { COMPARED, INITIAL_MEMORY_BITS, SAMPLES } from './command-line.mjs';

/** @typedef {import('./command-line.mjs').Outcome} Outcome */
/** @typedef {{ name: string, mimeType: string, buffer: Buffer }} UploadedFile */

/** The number of filters that the page has at first. */
const FIRST_FILTERS = 5;
/** A loaded machine needs this long for a log of some 50 MB. */
const RUN_MILLISECONDS = 60_000;

export class Playground {
  /** @param {import('playwright-core').Page} page */
  constructor(page) {
    this.page = page;
    this.message = page.getByRole('alert');
    this.status = page.locator('#status');
  }

  /** Waits until the engine is loaded: the form lists its filters. */
  async filtersListed() {
    await this.page.locator('.filter-card').first().waitFor();
  }

  /** Waits until the results of the first sample, or of that of a link, are shown. */
  async opened() {
    await this.filtersListed();
    await this.finished();
  }

  /** The same, and chooses the memory of the first sample, so that it does not follow the log. */
  async ready() {
    await this.opened();
    await this.setMemory(INITIAL_MEMORY_BITS / 8 / 1024, 'KiB');
    await this.finished();
  }

  /** @param {import('./command-line.mjs').SampleName} [title] */
  async loadSample(title = 'Crawl') {
    await this.page.getByRole('button', { name: title, exact: true }).click();
    await this.page.locator('#log-name', { hasText: SAMPLES[title].name }).waitFor();
    await this.examined();
    await this.finished();
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

  /** Asserts that earlier results stay and say that they are for other settings. */
  async assertOutdated() {
    await this.page.locator('#answer[data-state="outdated"]').waitFor();
    assert.ok(await this.page.locator('#outdated-note').isVisible());
    assert.ok(await this.page.locator('#comparison tbody tr').first().isVisible());
    assert.ok(await this.page.locator('#progress').isHidden());
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

  /** Adds all filters; most of them are loaded then. */
  async addAllFilters() {
    await this.page.getByRole('button', { name: 'Add all filters' }).click();
    await this.page.waitForFunction((first) => {
      const offered = document.querySelectorAll('#filter-choice option').length;
      return offered > first && document.querySelectorAll('.filter-card').length >= offered;
    }, FIRST_FILTERS);
  }

  /** Waits until the results are those of the settings in the form. */
  async finished() {
    await this.page.locator('#answer[data-state="done"]').waitFor({ timeout: RUN_MILLISECONDS });
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
