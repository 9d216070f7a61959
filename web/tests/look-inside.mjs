// Uses "Look inside" like a user.

/** @typedef {import('./playground.mjs').Playground} Playground */

/** @param {Playground} playground */
export async function runAllFilters(playground) {
  await playground.loadSample();
  await playground.addAllFilters();
  await playground.run();
}

/** @param {Playground} playground @param {string} name */
export async function choose({ page }, name) {
  const filters = await page.locator('#inside-filter option').allTextContents();
  const filter = filters.find((filter) => filter.startsWith(`${name}:`)) ?? '';
  await page.getByLabel('Filter to look into').selectOption(filter);
  await page.locator('#inside-summary', { hasText: 'Line 0,' }).waitFor();
  return filter;
}

/** @param {Playground} playground @param {string} speed lines per second; 0 is full speed */
export async function play({ page }, speed) {
  await page.getByLabel('Lines per second').selectOption(speed);
  await page.getByRole('button', { name: 'Play', exact: true }).click();
}
