// Which part of a line is its key: what the log's shape offers, or what is typed. The
// engine finds the keys; a few are shown before the run.

import { find, make, withCode } from './element.js';
import type { Clerk } from './engine.js';
import { InvalidInput } from './invalid-input.js';
import type { Log } from './log-input.js';
import { formatCount, formatShare } from './number-format.js';
import { type Examination, type KeyPart, type KeySpec, engineFor } from './protocol.js';

/** The choices that need something typed. */
const TYPED = { fields: 'Fields by number…', json: 'A JSON path…', regex: 'A regular expression…' };
type Typed = keyof typeof TYPED;
const EXAMPLE = '`HTTP://A.example:80/x#y` counts as `http://a.example/x`.';
const LOADING = 'Loading the part of the engine that knows regular expressions and URLs.';
const WHOLE_LINE = { label: 'The whole line', part: { kind: 'line' } } as const;

export class KeyInput {
  readonly #clerk: Clerk;
  readonly #choice = find('key-choice', HTMLSelectElement);
  readonly #typedRow = find('key-typed', HTMLElement);
  readonly #typed = find('key-text', HTMLInputElement);
  readonly #typedLabel = find('key-text-label', HTMLElement);
  readonly #delimiter = find('key-delimiter', HTMLSelectElement);
  readonly #normalize = find('key-normalize', HTMLInputElement);
  readonly #effect = find('key-effect', HTMLElement);
  readonly #shape = find('key-shape', HTMLElement);
  readonly #caution = find('key-caution', HTMLElement);
  readonly #preview = find('key-preview', HTMLElement);
  #offers: { label: string; part: KeyPart }[] = [WHOLE_LINE];
  #log: Log | undefined;
  #options: string[] = [];
  /** A key that waits for a log, as a link's does. */
  #awaited: KeySpec | undefined;
  #examining: Promise<void> = Promise.resolve();
  #asked = 0;

  constructor(clerk: Clerk) {
    this.#clerk = clerk;
    this.#fillChoice();
    this.#choice.addEventListener('change', () => {
      this.#showTyped();
      this.#examine();
    });
    for (const input of [this.#typed, this.#delimiter, this.#normalize]) {
      input.addEventListener('change', () => this.#examine());
    }
    this.#showTyped();
    this.#say(EXAMPLE);
  }

  /** A log has been taken: its likeliest key is chosen, unless one was set before. */
  look(log: Log): void {
    this.#log = log;
    const awaited = this.#awaited;
    this.#awaited = undefined;
    this.#ask(awaited ?? null, true);
  }

  /** Sets a key, as a link does. */
  restore(key: KeySpec): void {
    this.#awaited = key;
    this.#show(key);
  }

  /** The key, once the log has been looked at. */
  async settled(): Promise<KeySpec> {
    await this.#examining;
    return this.spec();
  }

  spec(): KeySpec {
    return { part: this.#part(), normalize: this.#normalize.checked };
  }

  /** The command line's options for the key. */
  get options(): string[] {
    return this.#options;
  }

  #part(): KeyPart {
    const text = this.#typed.value.trim();
    switch (this.#choice.value) {
      case 'fields': {
        const numbers = text.split(',').map(Number);
        if (text === '' || !numbers.every((number) => Number.isInteger(number) && number > 0)) {
          throw new InvalidInput('The fields must be numbers from 1, like 7 or 1,7.');
        }
        return { kind: 'fields', numbers, delimiter: this.#delimiter.value || null };
      }
      case 'json':
        return { kind: 'json', path: text };
      case 'regex':
        return { kind: 'regex', expression: this.#typed.value };
      default:
        return this.#offers[Number(this.#choice.value)]?.part ?? WHOLE_LINE.part;
    }
  }

  #examine(): void {
    try {
      this.#ask(this.spec(), false);
    } catch (error) {
      // A number that is not typed yet: a run would complain, a preview only waits.
      this.#say(error instanceof Error ? error.message : '');
      this.#preview.replaceChildren();
    }
  }

  /** The answer sets the inputs for a new log only: meanwhile someone may be typing. */
  #ask(key: KeySpec | null, setsInputs: boolean): void {
    const log = this.#log;
    if (log === undefined) {
      return;
    }
    this.#asked += 1;
    const asked = this.#asked;
    if (key !== null && engineFor(key) === 'complete' && !this.#clerk.isComplete) {
      this.#say(LOADING);
    }
    const question = { kind: 'examine', log: log.content, name: log.name, key } as const;
    this.#examining = this.#clerk.ask(question).then(
      ({ examination }) => {
        if (asked === this.#asked) {
          this.#take(examination, setsInputs);
        }
      },
      (error: Error) => {
        if (asked === this.#asked) {
          this.#say(error.message);
          this.#shape.textContent = '';
          this.#caution.replaceChildren();
          this.#preview.replaceChildren();
        }
      },
    );
  }

  #take(examination: Examination, setsInputs: boolean): void {
    this.#offers = examination.offers;
    this.#options = examination.options;
    this.#fillChoice();
    if (setsInputs) {
      this.#show(examination.key);
    }
    this.#shape.textContent = `Looks like ${examination.shape}.`;
    this.#caution.replaceChildren(...withCode(examination.caution ?? ''));
    this.#say(effect(examination));
    const rows = examination.rows.map(({ line, key }) =>
      key === null
        ? make('li', { class: 'no-key', title: line }, 'no key in this line')
        : make('li', { title: line }, make('code', {}, key === '' ? '(empty)' : key)),
    );
    this.#preview.replaceChildren(...rows);
  }

  #say(text: string): void {
    this.#effect.replaceChildren(...withCode(text));
  }

  #fillChoice(): void {
    const before = this.#choice.value;
    const offers = this.#offers.map(({ label }, index) =>
      make('option', { value: String(index) }, label),
    );
    const typed = Object.entries(TYPED).map(([value, label]) => make('option', { value }, label));
    this.#choice.replaceChildren(...offers, ...typed);
    this.#choice.value = before === '' ? '0' : before;
  }

  #show({ part, normalize }: KeySpec): void {
    this.#normalize.checked = normalize;
    const wanted = JSON.stringify(part);
    const offered = this.#offers.findIndex((offer) => JSON.stringify(offer.part) === wanted);
    const isTyping = this.#choice.value in TYPED && this.#choice.value === part.kind;
    if (offered >= 0 && !isTyping) {
      this.#choice.value = String(offered);
    } else if (part.kind !== 'line') {
      this.#choice.value = part.kind;
      this.#typed.value = typedText(part);
      this.#delimiter.value = part.kind === 'fields' ? (part.delimiter ?? '') : '';
    } else {
      this.#choice.value = String(Math.max(offered, 0));
    }
    this.#showTyped();
  }

  #showTyped(): void {
    const value = this.#choice.value;
    const isTyped = value in TYPED;
    this.#typedRow.hidden = !isTyped;
    this.#delimiter.hidden = value !== 'fields';
    const labels: Record<Typed, string> = {
      fields: 'Numbers from 1, like 7 or 1,7',
      json: 'Path, like request.url or items[0].link',
      regex: 'Its first group is the key, or all of it',
    };
    this.#typedLabel.textContent = isTyped ? labels[value as Typed] : '';
  }
}

/** What one spelling for each URL does to the first keys, or would do. */
function effect({ merging, key }: Examination): string {
  if (merging === null) {
    return EXAMPLE;
  }
  const { lines, distinct, normalized } = merging;
  const among = `in the first ${formatCount(lines)} lines`;
  if (normalized === distinct) {
    return key.normalize ? `Merges nothing ${among}.` : `Would merge nothing ${among}.`;
  }
  const share = formatShare(1 - normalized / distinct);
  const counts = `${formatCount(distinct)} different keys are ${formatCount(normalized)}`;
  return `${key.normalize ? 'Merges' : 'Would merge'} ${share} more: ${counts} ${among}.`;
}

function typedText(part: Exclude<KeyPart, { kind: 'line' }>): string {
  switch (part.kind) {
    case 'fields':
      return part.numbers.join(',');
    case 'json':
      return part.path;
    case 'regex':
      return part.expression;
  }
}
