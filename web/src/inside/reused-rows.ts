/**
 * Makes a container show one row per item. Rows are reused, so that a row keeps the keyboard
 * focus.
 */
export function updateRows<Item, Row extends { element: HTMLElement }>(
  container: HTMLElement,
  rows: Row[],
  items: readonly Item[],
  create: () => Row,
  update: (row: Row, item: Item) => void,
): void {
  while (rows.length < items.length) {
    const row = create();
    rows.push(row);
    container.append(row.element);
  }
  for (const unused of rows.splice(items.length)) {
    unused.element.remove();
  }
  rows.forEach((row, index) => {
    const item = items[index];
    if (item !== undefined) {
      update(row, item);
    }
  });
}
