// A real browser with the built page. A test fails if the browser reports any problem.

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { chromium } from 'playwright-core';
import { Playground } from './playground.mjs';
import { serve } from './server.mjs';

/**
 * For each window Chromium starts pages of its own for the suggestions of the address bar:
 * as much work as our page. Only the last `--disable-features` counts, so Playwright's list
 * is repeated.
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
const TIMEOUT_MILLISECONDS = 15_000;
/** What Playwright reports in place of the service worker, which most tests do not need. */
const BLOCKED_SERVICE_WORKER = 'Service Worker registration blocked by Playwright';

/**
 * @typedef {object} Appearance
 * @property {'light' | 'dark'} [colorScheme]
 * @property {number} [width]
 * @property {number} [height]
 * @property {boolean} [moves] whether the user has not asked for reduced motion
 * @property {boolean} [offline] whether the page may keep itself for use without its server
 */

/**
 * Starts a browser and a server for the tests of a file.
 *
 * @typedef {(test: (playground: Playground) => Promise<void>, appearance?: Appearance) => Promise<void>} Visit
 *
 * @returns {Visit & { stopServer(): void, requests(): string[] }} opens the page, runs the test, and
 *   asserts that the browser reported no problem; `requests` are those that have reached the server
 */
export function startBrowser() {
  /** @type {import('playwright-core').Browser} */
  let browser;
  /** @type {Awaited<ReturnType<typeof serve>>} */
  let server;

  before(async () => {
    server = await serve();
    browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: FLAGS,
      timeout: TIMEOUT_MILLISECONDS,
    });
  });

  after(async () => {
    await browser?.close();
    server?.close();
  });

  /** @type {Visit} */
  const visit = async (test, {
    colorScheme = 'light',
    width = 1280,
    height = 900,
    moves = false,
    offline = false,
  } = {}) => {
    const context = await browser.newContext({
      locale: 'en-US',
      colorScheme,
      reducedMotion: moves ? 'no-preference' : 'reduce',
      serviceWorkers: offline ? 'allow' : 'block',
      viewport: { width, height },
    });
    context.setDefaultTimeout(TIMEOUT_MILLISECONDS);
    try {
      const page = await context.newPage();
      const problems = recordProblems(page, server.origin);
      await page.goto(server.origin);
      const playground = new Playground(page);
      await playground.ready();
      await test(playground);
      assert.deepEqual(problems, []);
    } finally {
      await context.close();
    }
  };
  return Object.assign(visit, {
    stopServer: () => server.close(),
    requests: () => server.requests,
  });
}

/**
 * @param {import('playwright-core').Page} page
 * @param {string} origin
 */
function recordProblems(page, origin) {
  /** @type {string[]} */
  const problems = [];
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (message) => {
    const isProblem = message.type() === 'error' || message.type() === 'warning';
    if (isProblem && message.text() !== BLOCKED_SERVICE_WORKER) {
      problems.push(`console: ${message.text()}`);
    }
  });
  page.on('request', (request) => {
    const url = request.url();
    // A blob is in the page's own memory.
    const isOwn = url.startsWith(`${origin}/`) || url.startsWith(`blob:${origin}/`);
    if (!isOwn && !url.startsWith('data:')) {
      problems.push(`request: ${url}`);
    }
  });
  page.on('response', (response) => {
    if (!response.ok()) {
      problems.push(`response ${response.status()}: ${response.url()}`);
    }
  });
  return problems;
}
