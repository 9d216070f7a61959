// The inputs for the importance of a line. Their text form is that of the engine:
// `importance=2,importance-delimiter=%09,importance-format=depth`.

import { create } from '../ui/element.js';

const NONE = 'none';
const PLACES: Readonly<Record<string, string>> = {
  [NONE]: 'All lines are equal',
  importance: 'A field by number…',
  'importance-json': 'A JSON path…',
};
const LABELS: Readonly<Record<string, string>> = {
  importance: 'Number of the field, from 1',
  'importance-json': 'Path, like page.rank',
};
const FORMATS: Readonly<Record<string, string>> = {
  number: 'is a number: more is more important',
  depth: 'is a link depth from 0: less is more important',
  pagerank: 'is a PageRank',
};
const DELIMITERS: Readonly<Record<string, string>> = {
  '': 'separated by blanks',
  ',': 'separated by commas',
  '\t': 'separated by tabs',
  ';': 'separated by semicolons',
  '|': 'separated by vertical bars',
};
const HINT =
  'Errors then weigh as much as the importance of their lines, and filters that use importance ' +
  'remember important keys longer.';

export class ImportanceForm {
  readonly #place = choice('importance-place', 'Where the importance of a line is', PLACES);
  readonly #label = create('label', { class: 'hint', for: 'importance-text' });
  readonly #value = create('input', {
    id: 'importance-text',
    type: 'text',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  readonly #delimiter = choice('importance-delimiter', 'Delimiter of fields', DELIMITERS);
  readonly #format = choice('importance-format', 'How importance is written', FORMATS);
  readonly #typed = create(
    'div',
    { class: 'key-typed' },
    this.#label,
    this.#value,
    this.#delimiter,
    this.#format,
  );

  constructor(root: HTMLElement, text: string | null, changed: (text: string | null) => void) {
    root.append(create('p', { class: 'hint' }, HINT), this.#place, this.#typed);
    this.show(text);
    this.#place.addEventListener('change', () => {
      this.#value.value = this.#place.value === 'importance' ? '2' : '';
      this.#showTyped();
    });
    for (const input of [this.#place, this.#value, this.#delimiter, this.#format]) {
      input.addEventListener('change', () => {
        // An empty text is not typed yet.
        changed(this.#place.value === NONE || this.#value.value === '' ? null : this.#text());
      });
    }
  }

  show(text: string | null): void {
    const parts = new Map(
      (text ?? '').split(',').map((part) => {
        const [name = '', value = ''] = part.split('=');
        return [name, decodeURIComponent(value)];
      }),
    );
    const place = Object.keys(LABELS).find((name) => parts.has(name)) ?? NONE;
    this.#place.value = place;
    this.#value.value = parts.get(place) ?? '';
    this.#delimiter.value = parts.get('importance-delimiter') ?? '';
    this.#format.value = parts.get('importance-format') ?? 'number';
    this.#showTyped();
  }

  #text(): string {
    const place = this.#place.value;
    const fields = [[place, this.#value.value.trim()]];
    if (place === 'importance' && this.#delimiter.value !== '') {
      fields.push(['importance-delimiter', this.#delimiter.value]);
    }
    fields.push(['importance-format', this.#format.value]);
    return fields.map(([name, value]) => `${name}=${encodeURIComponent(value ?? '')}`).join(',');
  }

  #showTyped(): void {
    const place = this.#place.value;
    this.#typed.hidden = place === NONE;
    this.#label.textContent = LABELS[place] ?? '';
    this.#delimiter.hidden = place !== 'importance';
  }
}

function choice(
  id: string,
  label: string,
  options: Readonly<Record<string, string>>,
): HTMLSelectElement {
  const items = Object.entries(options).map(([value, text]) => create('option', { value }, text));
  return create('select', { id, class: 'wide', 'aria-label': label }, ...items);
}
