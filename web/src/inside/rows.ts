// Lists that are shown again and again: elements are kept, so that the keyboard's place
// in them is kept too.

/** Makes a container's children show these items, one each. */
export function showItems<Item, Shown extends { element: HTMLElement }>(
  container: HTMLElement,
  shown: Shown[],
  items: readonly Item[],
  make: () => Shown,
  update: (shown: Shown, item: Item) => void,
): void {
  while (shown.length < items.length) {
    const fresh = make();
    shown.push(fresh);
    container.append(fresh.element);
  }
  for (const spare of shown.splice(items.length)) {
    spare.element.remove();
  }
  shown.forEach((one, place) => {
    const item = items[place];
    if (item !== undefined) {
      update(one, item);
    }
  });
}
