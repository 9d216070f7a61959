import type { ImportanceForm } from '../importance/form.js';
import { find } from '../ui/element.js';

/** Where the importance of a line is. Most logs have none, so the form is loaded on demand. */
export class ImportanceInput {
  readonly #details = find('importance', HTMLDetailsElement);
  readonly #changed: () => void;
  #text: string | null = null;
  #form: Promise<ImportanceForm> | undefined;

  constructor(changed: () => void) {
    this.#changed = changed;
    this.#details.addEventListener('toggle', () => {
      this.#form ??= this.#load();
    });
  }

  /** As the engine reads it; null if lines have none. */
  get text(): string | null {
    return this.#text;
  }

  set text(text: string | null) {
    this.#text = text;
    this.#details.open ||= text !== null;
    void this.#form?.then((form) => form.show(text));
  }

  async #load(): Promise<ImportanceForm> {
    const { ImportanceForm } = await import('../importance/form.js');
    return new ImportanceForm(this.#details, this.#text, (text) => {
      this.#text = text;
      this.#changed();
    });
  }
}
