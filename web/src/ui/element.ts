// Finds the page's elements and creates new ones, with their types.

type Child = Node | string;

/** Returns the element with an id. Throws if the page's markup lacks it. */
export function find<T extends Element>(id: string, type: abstract new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof type)) {
    throw new Error(`the page has no ${type.name} with the id ${id}`);
  }
  return found;
}

export function create<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** Formats `text between backquotes` as code. */
export function withCode(text: string): Child[] {
  return text
    .split('`')
    .map((part, index) => (index % 2 === 1 ? create('code', {}, part) : part))
    .filter((part) => part !== '');
}

/** A filter's text form, which breaks lines only after `:` and `,`. */
export function specText(spec: string): HTMLElement {
  const parts = spec.split(/(?<=[:,])/).flatMap((part) => [part, create('wbr')]);
  return create('code', { class: 'spec' }, ...parts);
}

/** A filter's name for people. Its text form appears when the pointer rests on it. */
export function filterName({ name, filter }: { name: string; filter: string }): HTMLElement {
  return create('span', { class: 'name', title: filter }, name);
}

let lastId = 0;

/** Returns an id that no other element has. */
export function uniqueId(): string {
  lastId += 1;
  return `part-${lastId}`;
}
