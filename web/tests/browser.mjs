// A real browser on the built page. Whatever it complains of fails the test.

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { chromium } from 'playwright-core';
import { Playground } from './playground.mjs';
import { serve } from './server.mjs';

/**
 * With every window the browser starts pages of its own for what the address bar may one day
 * suggest: as much work as ours. Playwright's list is repeated, as only the last one counts.
 */
const SUGGESTIONS = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup'];
const PLAYWRIGHT_DISABLES = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
];
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--disable-features=${[...PLAYWRIGHT_DISABLES, ...SUGGESTIONS].join(',')}`,
];
const LIMIT_MILLISECONDS = 15_000;

/**
 * @typedef {object} Look
 * @property {'light' | 'dark'} [colorScheme]
 * @property {number} [width]
 */

/**
 * Starts a browser and a server for the tests of a file.
 *
 * @returns {(story: (playground: Playground) => Promise<void>, look?: Look) => Promise<void>}
 *   opens the page, plays the story, and asserts that the browser had no complaint
 */
export function stage() {
  /** @type {import('playwright-core').Browser} */
  let browser;
  /** @type {Awaited<ReturnType<typeof serve>>} */
  let server;

  before(async () => {
    server = await serve();
    browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: FLAGS,
      timeout: LIMIT_MILLISECONDS,
    });
  });

  after(async () => {
    await browser?.close();
    server?.close();
  });

  return async (story, { colorScheme = 'light', width = 1280 } = {}) => {
    const context = await browser.newContext({
      locale: 'en-US',
      colorScheme,
      reducedMotion: 'reduce',
      viewport: { width, height: 900 },
    });
    context.setDefaultTimeout(LIMIT_MILLISECONDS);
    try {
      const page = await context.newPage();
      const complaints = listen(page, server.origin);
      await page.goto(server.origin);
      const playground = new Playground(page);
      await playground.ready();
      await story(playground);
      assert.deepEqual(complaints, []);
    } finally {
      await context.close();
    }
  };
}

/**
 * @param {import('playwright-core').Page} page
 * @param {string} origin
 */
function listen(page, origin) {
  /** @type {string[]} */
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') {
      complaints.push(`console: ${message.text()}`);
    }
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !url.startsWith('data:')) {
      complaints.push(`request: ${url}`);
    }
  });
  page.on('response', (response) => {
    if (!response.ok()) {
      complaints.push(`answer ${response.status()}: ${response.url()}`);
    }
  });
  return complaints;
}
