// One filter of the comparison: its description and its parameters.

import { create, specText, uniqueId, withCode } from '../ui/element.js';
import { type Series, swatch } from '../ui/palette.js';
import type { FilterDescription, ParameterDescription } from '../wasm/dedupstore_wasm.js';
import { filterDrawing } from './filter-drawing.js';

export class FilterCard {
  readonly element: HTMLLIElement;
  readonly removeButton: HTMLButtonElement;
  readonly #description: FilterDescription;
  readonly #fields: { name: string; input: HTMLInputElement | HTMLSelectElement }[] = [];
  readonly #details: HTMLDetailsElement;
  readonly #spec = create('span');
  readonly #swatch = create('span', { class: 'card-swatch' });

  constructor(description: FilterDescription, remove: (card: FilterCard) => void) {
    this.#description = description;
    this.removeButton = create('button', { type: 'button', class: 'quiet' }, 'Remove');
    this.removeButton.addEventListener('click', () => remove(this));
    this.#details = create('details', {}, create('summary', {}, this.#spec));
    this.#details.append(create('div', { class: 'parameters' }, ...this.#createFields()));
    this.element = create(
      'li',
      { class: 'filter-card' },
      create(
        'div',
        { class: 'filter-head' },
        this.#swatch,
        create('h3', {}, description.title),
        this.removeButton,
      ),
      create('p', { class: 'hint' }, sentence(description.errs)),
      this.#details,
      explanation(description),
    );
    this.#details.addEventListener('input', () => this.#showSpec());
    this.#showSpec();
  }

  get name(): string {
    return this.#description.name;
  }

  /** Sets the parameters to those of a text form. */
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

  /** The text form. The engine checks the values. */
  spec(): string {
    const values = this.#fields.map(({ name, input }) => `${name}=${input.value}`);
    const separator = values.length > 0 ? ':' : '';
    return this.#description.name + separator + values.join(',');
  }

  /** Sets the style of the filter's lines in charts. */
  setSeries(series: Series | undefined): void {
    this.#swatch.replaceChildren(...(series === undefined ? [] : [swatch(series)]));
  }

  open(): void {
    this.#details.open = true;
    this.#details.querySelector('summary')?.focus();
  }

  #showSpec(): void {
    this.#spec.replaceChildren(specText(this.spec()));
    this.removeButton.setAttribute('aria-label', `Remove ${this.spec()}`);
  }

  #createFields(): HTMLElement[] {
    return this.#description.parameters.map((parameter) => {
      const id = uniqueId();
      const input = createInput(parameter);
      input.id = id;
      input.setAttribute('aria-describedby', `${id}-meaning`);
      this.#fields.push({ name: parameter.name, input });
      const label = create('label', { for: id }, create('code', {}, parameter.name));
      const meaning = create('p', { class: 'hint', id: `${id}-meaning` }, explain(parameter));
      return create('div', { class: 'parameter' }, label, input, meaning);
    });
  }
}

function createInput({ allowed, defaultValue }: ParameterDescription) {
  switch (allowed.kind) {
    case 'number':
      return create('input', {
        type: 'number',
        min: String(allowed.min),
        max: String(allowed.max),
        step: String(allowed.step),
        value: defaultValue,
      });
    case 'choice': {
      const options = allowed.options.map((word) => create('option', {}, word));
      const select = create('select', {}, ...options);
      select.value = defaultValue;
      return select;
    }
  }
}

function explain({ meaning, allowed }: ParameterDescription): string {
  const range = allowed.kind === 'number' ? `, ${allowed.min} to ${allowed.max}` : '';
  return sentence(meaning + range);
}

/** A drawing and three sentences, closed at first. */
function explanation(description: FilterDescription): HTMLDetailsElement {
  const texts: [string, string][] = [
    ['In short', description.summary],
    ['What it guarantees', description.promise],
    ['When to choose it', description.chooseWhen],
  ];
  const parts = texts.flatMap(([term, text]) => [
    create('dt', {}, term),
    create('dd', {}, ...withCode(text)),
  ]);
  const summary = create('summary', {}, 'How it works');
  summary.setAttribute('aria-label', `How it works: ${description.title}`);
  return create(
    'details',
    { class: 'explanation' },
    summary,
    filterDrawing(description),
    create('dl', { class: 'facts' }, ...parts),
  );
}

/** The engine's phrases start in lower case and have no full stop. */
function sentence(phrase: string): string {
  return phrase.charAt(0).toUpperCase() + phrase.slice(1) + '.';
}
