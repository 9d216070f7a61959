// Finding the elements of the page and making new ones, with their types known.

type Child = Node | string;

/** The element of an id. The markup is ours, so one that is missing is a mistake. */
export function find<T extends Element>(id: string, type: abstract new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof type)) {
    throw new Error(`the page has no ${type.name} with the id ${id}`);
  }
  return found;
}

export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Text in which `this` stands for code, as the engine's sentences have it. */
export function withCode(text: string): Child[] {
  return text
    .split('`')
    .map((part, index) => (index % 2 === 1 ? make('code', {}, part) : part))
    .filter((part) => part !== '');
}

/** A filter's text form, which may break where its parts meet and nowhere else. */
export function specText(spec: string): HTMLElement {
  const parts = spec.split(/(?<=[:,])/).flatMap((part) => [part, make('wbr')]);
  return make('code', { class: 'spec' }, ...parts);
}

let made = 0;

/** An id that no other element has. */
export function uniqueId(): string {
  made += 1;
  return `part-${made}`;
}
