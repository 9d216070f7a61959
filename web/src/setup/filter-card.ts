// One filter of the comparison: what the registry says of it, and its parameters.

import { make, specText, uniqueId, withCode } from './element.js';
import { filterDrawing } from './filter-drawing.js';
import { swatch } from './palette.js';
import type { FilterDescription, ParameterDescription } from './protocol.js';

export class FilterCard {
  readonly element: HTMLLIElement;
  readonly removeButton: HTMLButtonElement;
  readonly #description: FilterDescription;
  readonly #fields: { name: string; input: HTMLInputElement | HTMLSelectElement }[] = [];
  readonly #details: HTMLDetailsElement;
  readonly #spec = make('span');
  readonly #look = make('span', { class: 'look' });

  constructor(description: FilterDescription, remove: (card: FilterCard) => void) {
    this.#description = description;
    this.removeButton = make('button', { type: 'button', class: 'quiet' }, 'Remove');
    this.removeButton.addEventListener('click', () => remove(this));
    this.#details = make('details', {}, make('summary', {}, this.#spec));
    this.#details.append(make('div', { class: 'parameters' }, ...this.#makeFields()));
    this.element = make(
      'li',
      { class: 'filter-card' },
      make(
        'div',
        { class: 'filter-head' },
        this.#look,
        make('h3', {}, description.title),
        this.removeButton,
      ),
      make('p', { class: 'hint' }, sentence(description.errs)),
      this.#details,
      explanation(description),
    );
    this.#details.addEventListener('input', () => this.#showSpec());
    this.#showSpec();
  }

  get name(): string {
    return this.#description.name;
  }

  /** Takes the values of a text form. */
  restore(spec: string): void {
    const values = new Map(
      (spec.split(':')[1] ?? '').split(',').map((part): [string, string] => {
        const [name = '', value = ''] = part.split('=');
        return [name, value];
      }),
    );
    for (const { name, input } of this.#fields) {
      input.value = values.get(name) ?? input.value;
    }
    this.#showSpec();
  }

  /** The text form. Whether the values are allowed, the engine says. */
  spec(): string {
    const values = this.#fields.map(({ name, input }) => `${name}=${input.value}`);
    const separator = values.length > 0 ? ':' : '';
    return this.#description.name + separator + values.join(',');
  }

  showPlace(place: number): void {
    this.#look.replaceChildren(swatch(place));
  }

  open(): void {
    this.#details.open = true;
    this.#details.querySelector('summary')?.focus();
  }

  #showSpec(): void {
    this.#spec.replaceChildren(specText(this.spec()));
    this.removeButton.setAttribute('aria-label', `Remove ${this.spec()}`);
  }

  #makeFields(): HTMLElement[] {
    return this.#description.parameters.map((parameter) => {
      const id = uniqueId();
      const input = field(parameter);
      input.id = id;
      input.setAttribute('aria-describedby', `${id}-meaning`);
      this.#fields.push({ name: parameter.name, input });
      const label = make('label', { for: id }, make('code', {}, parameter.name));
      const meaning = make('p', { class: 'hint', id: `${id}-meaning` }, explain(parameter));
      return make('div', { class: 'parameter' }, label, input, meaning);
    });
  }
}

function field({ allowed, defaultValue }: ParameterDescription) {
  switch (allowed.kind) {
    case 'number':
      return make('input', {
        type: 'number',
        min: String(allowed.min),
        max: String(allowed.max),
        step: String(allowed.step),
        value: defaultValue,
      });
    case 'choice': {
      const options = allowed.options.map((word) => make('option', {}, word));
      const select = make('select', {}, ...options);
      select.value = defaultValue;
      return select;
    }
  }
}

function explain({ meaning, allowed }: ParameterDescription): string {
  const range = allowed.kind === 'number' ? `, ${allowed.min} to ${allowed.max}` : '';
  return sentence(meaning + range);
}

/** A drawing and three sentences, for those who ask. */
function explanation(description: FilterDescription): HTMLDetailsElement {
  const texts: [string, string][] = [
    ['In short', description.summary],
    ['What it promises', description.promise],
    ['When to choose it', description.chooseWhen],
  ];
  const parts = texts.flatMap(([term, text]) => [
    make('dt', {}, term),
    make('dd', {}, ...withCode(text)),
  ]);
  const summary = make('summary', {}, 'How it works');
  summary.setAttribute('aria-label', `How it works: ${description.title}`);
  return make(
    'details',
    { class: 'explanation' },
    summary,
    filterDrawing(description),
    make('dl', { class: 'facts' }, ...parts),
  );
}

/** The registry's phrases begin small and end without a stop. */
function sentence(phrase: string): string {
  return phrase.charAt(0).toUpperCase() + phrase.slice(1) + '.';
}
