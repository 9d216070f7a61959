// The part of each line that is its key: a candidate of the log's format, or typed in. The
// engine finds the keys; a few are shown before the run.

import type { QueryClient } from '../engine/queries.js';
import { engineFor } from '../engine/settings.js';
import { keyText } from '../inside/key-text.js';
import { create, find, withCode } from '../ui/element.js';
import { InvalidInput } from '../ui/invalid-input.js';
import { formatCount, formatCounted } from '../ui/number-format.js';
import type { KeyCandidate, KeyPart, KeySpec, LogExamination } from '../wasm/dedupstore_wasm.js';
import { ImportanceInput } from './importance-input.js';
import { showLogError } from './log-error.js';
import type { Log } from './log-input.js';

/** The choices that need text, with the labels of the choice and of the text. */
const TYPED = {
  fields: { choice: 'Fields by number…', text: 'Numbers from 1, like 7 or 1,7' },
  json: { choice: 'A JSON path…', text: 'Path, like request.url or items[0].link' },
  regex: { choice: 'A regular expression…', text: 'The first group is the key, or the whole match' },
};
type Typed = keyof typeof TYPED;
const EXAMPLE = '`HTTP://A.example:80/x#y` then counts as `http://a.example/x`.';
const LOADING = 'Loading the complete engine.';
/** The preview follows typing after this pause. */
const TYPING_MILLISECONDS = 150;
const WHOLE_LINE: KeyCandidate = { label: 'The whole line', part: 'line' };

export class KeyInput {
  readonly #queries: QueryClient;
  readonly #choice = find('key-choice', HTMLSelectElement);
  readonly #typedRow = find('key-typed', HTMLElement);
  readonly #typed = find('key-text', HTMLInputElement);
  readonly #typedLabel = find('key-text-label', HTMLElement);
  readonly #delimiter = find('key-delimiter', HTMLSelectElement);
  readonly #normalize = find('key-normalize', HTMLInputElement);
  readonly #effect = find('key-effect', HTMLElement);
  readonly #format = find('key-format', HTMLElement);
  readonly #warning = find('key-warning', HTMLElement);
  readonly #preview = find('key-preview', HTMLElement);
  #candidates: KeyCandidate[] = [WHOLE_LINE];
  #log: Log | undefined;
  readonly #importance = new ImportanceInput(() => this.#examineKey());
  #options: string[] = [];
  #weightedOptions: string[] = [];
  /** A key from a link, to be used for the next log. */
  #nextKey: KeySpec | undefined;
  #examining: Promise<void> = Promise.resolve();
  #typingTimer: ReturnType<typeof setTimeout> | undefined;
  /** What is wrong with the key, beside the input. */
  readonly #error = create('p', { id: 'key-error', class: 'warning error', role: 'status' });
  #lastQuery = 0;

  /** Called when a new log has been examined. */
  examined = (_examination: LogExamination): void => undefined;

  constructor(queries: QueryClient) {
    this.#queries = queries;
    this.#fillChoice();
    this.#choice.addEventListener('change', () => {
      this.#showTyped();
      this.#examineKey();
    });
    for (const input of [this.#delimiter, this.#normalize]) {
      input.addEventListener('change', () => this.#examineKey());
    }
    this.#typed.addEventListener('input', () => {
      clearTimeout(this.#typingTimer);
      this.#typingTimer = setTimeout(() => this.#examineKey(), TYPING_MILLISECONDS);
    });
    this.#typedRow.after(this.#error);
    this.#typed.setAttribute('aria-describedby', this.#error.id);
    this.#showTyped();
    this.#showEffect(EXAMPLE);
  }

  /** Examines a new log. Chooses its most likely key, unless a link has set one. */
  examine(log: Log): void {
    this.#log = log;
    const key = this.#nextKey ?? log.key;
    this.#nextKey = undefined;
    this.#query(key, true);
  }

  /** Sets a key, as from a link: for the next log, or for the present one. */
  restore(key: KeySpec, isForNextLog: boolean): void {
    this.#select(key);
    if (isForNextLog) {
      this.#nextKey = key;
    } else {
      this.#query(key, true);
    }
  }

  /** Returns the key after the log has been examined. */
  async settled(): Promise<KeySpec> {
    if (this.#typingTimer !== undefined) {
      this.#examineKey();
    }
    await this.#examining;
    return this.spec();
  }

  spec(): KeySpec {
    return {
      part: this.#part(),
      normalize: this.#normalize.checked,
      importance: this.#importance.text,
    };
  }

  /** The command-line options for the key. */
  get options(): string[] {
    return this.#options;
  }

  /** The same with those for the importance of lines. */
  get weightedOptions(): string[] {
    return this.#weightedOptions;
  }

  /** The key in words. */
  get label(): string {
    const label = this.#choice.selectedOptions[0]?.textContent ?? '';
    const text = this.#typedRow.hidden ? label : `${label.replace('…', '')} ${this.#typed.value}`;
    const named = text.charAt(0).toLowerCase() + text.slice(1);
    return this.#normalize.checked ? `${named}, URLs cleaned up` : named;
  }

  #part(): KeyPart {
    const text = this.#typed.value.trim();
    switch (this.#choice.value) {
      case 'fields': {
        const numbers = text.split(',').map(Number);
        if (text === '' || !numbers.every((number) => Number.isInteger(number) && number > 0)) {
          throw new InvalidInput('The fields must be numbers from 1, like 7 or 1,7.');
        }
        return { fields: { numbers, delimiter: this.#delimiter.value || null } };
      }
      case 'json':
        return { json: text };
      case 'regex':
        return { regex: this.#typed.value };
      default:
        return this.#candidates[Number(this.#choice.value)]?.part ?? WHOLE_LINE.part;
    }
  }

  #examineKey(): void {
    clearTimeout(this.#typingTimer);
    this.#typingTimer = undefined;
    try {
      this.#query(this.spec(), false);
    } catch (error) {
      // The field numbers are not typed yet. An answer to an earlier query would be out of date.
      this.#lastQuery += 1;
      this.#showError(error instanceof Error ? error.message : '');
    }
  }

  /** The answer sets the inputs only for a new log: otherwise the user may be typing. */
  #query(key: KeySpec | null, setsInputs: boolean): void {
    const log = this.#log;
    if (log === undefined) {
      return;
    }
    this.#lastQuery += 1;
    const id = this.#lastQuery;
    if (key !== null && engineFor(key) === 'complete' && !this.#queries.hasComplete) {
      this.#showEffect(LOADING);
    }
    const query = { kind: 'examine', log: log.content, key } as const;
    this.#examining = this.#queries.ask(query).then(
      ({ examination, logError }) => {
        if (id !== this.#lastQuery) {
          return;
        }
        if (examination === null) {
          this.#showError('');
          this.#format.textContent = '';
          showLogError(logError);
        } else {
          this.#show(examination, setsInputs);
        }
      },
      (error: Error) => {
        if (id === this.#lastQuery) {
          this.#showError(error.message);
        }
      },
    );
  }

  #show(examination: LogExamination, setsInputs: boolean): void {
    this.#candidates = examination.candidates;
    this.#options = examination.options;
    this.#weightedOptions = examination.weightedOptions;
    this.#fillChoice();
    this.#showError('');
    showLogError('');
    if (setsInputs) {
      this.#select(examination.key);
      this.examined(examination);
    }
    this.#format.textContent = `The log looks like ${examination.format}.`;
    this.#warning.replaceChildren(...withCode(examination.warning ?? ''));
    this.#showEffect(normalizationEffect(examination));
    const rows = examination.preview.map(({ line, key, importance }) =>
      key === null
        ? create('li', { class: 'no-key', title: line }, 'no key in this line')
        : create(
            'li',
            { title: line },
            keyText(key, true),
            importance === null ? '' : create('span', { class: 'hint' }, `importance ${importance}`),
          ),
    );
    this.#preview.replaceChildren(...rows);
  }

  /** Shows what is wrong with the key in place of its preview; '' if nothing is. */
  #showError(text: string): void {
    this.#error.replaceChildren(...withCode(text));
    this.#typed.ariaInvalid = String(text !== '' && !this.#typedRow.hidden);
    this.#warning.replaceChildren();
    this.#preview.replaceChildren();
  }

  #showEffect(text: string): void {
    this.#effect.replaceChildren(...withCode(text));
  }

  #fillChoice(): void {
    const before = this.#choice.value;
    const candidates = this.#candidates.map(({ label }, index) =>
      create('option', { value: String(index) }, label),
    );
    const typed = Object.entries(TYPED).map(([value, { choice }]) =>
      create('option', { value }, choice),
    );
    this.#choice.replaceChildren(...candidates, ...typed);
    this.#choice.value = before === '' ? '0' : before;
  }

  #select({ part, normalize, importance }: KeySpec): void {
    this.#normalize.checked = normalize;
    this.#importance.text = importance;
    const text = JSON.stringify(part);
    const candidate = this.#candidates.findIndex(({ part }) => JSON.stringify(part) === text);
    const typed = typedKey(part);
    const isTyping = typed !== undefined && this.#choice.value === typed.choice;
    if (typed === undefined || (candidate >= 0 && !isTyping)) {
      this.#choice.value = String(Math.max(candidate, 0));
    } else {
      this.#choice.value = typed.choice;
      this.#typed.value = typed.text;
      this.#delimiter.value = typed.delimiter;
    }
    this.#showTyped();
  }

  #showTyped(): void {
    const choice = this.#choice.value;
    const isTyped = choice in TYPED;
    this.#typedRow.hidden = !isTyped;
    this.#delimiter.hidden = choice !== 'fields';
    this.#typedLabel.textContent = isTyped ? TYPED[choice as Typed].text : '';
  }
}

/** The effect of URL clean-up on the first keys. */
function normalizationEffect({ normalization, key }: LogExamination): string {
  if (normalization === null) {
    return EXAMPLE;
  }
  const { lines, distinct, normalized } = normalization;
  const verb = key.normalize ? 'merges' : 'would merge';
  if (normalized === distinct) {
    return key.normalize ? 'URL clean-up changes nothing here.' : 'URL clean-up would change nothing here.';
  }
  const keys = formatCounted(distinct, 'distinct key');
  return `URL clean-up ${verb} ${keys} into ${formatCount(normalized)} in the first ${formatCounted(lines, 'line')}.`;
}

/** How a key is typed in; undefined for the whole line. */
function typedKey(part: KeyPart): { choice: Typed; text: string; delimiter: string } | undefined {
  if (part === 'line') {
    return undefined;
  }
  if ('fields' in part) {
    const { numbers, delimiter } = part.fields;
    return { choice: 'fields', text: numbers.join(','), delimiter: delimiter ?? '' };
  }
  return 'json' in part
    ? { choice: 'json', text: part.json, delimiter: '' }
    : { choice: 'regex', text: part.regex, delimiter: '' };
}
